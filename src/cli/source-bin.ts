#!/usr/bin/env node
// `source-sluice read` is `sluice airbyte read`: programs of Airbyte run a connector by one name.
process.argv.splice(2, 0, 'airbyte');
await import('./bin.ts');

export {};
