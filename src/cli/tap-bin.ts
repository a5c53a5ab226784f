#!/usr/bin/env node
// `tap-sluice` is `sluice singer`: programs of Singer run a tap by one name.
process.argv.splice(2, 0, 'singer');
await import('./bin.ts');

export {};
