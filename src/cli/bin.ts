#!/usr/bin/env node
// This file has to parse on any Node, so that an old one gets a sentence instead of a syntax error.
const LEAST_MAJOR = 22;
const LEAST_MINOR = 20;

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < LEAST_MAJOR || (major === LEAST_MAJOR && minor < LEAST_MINOR)) {
  process.stderr.write(
    `sluice needs Node ${LEAST_MAJOR}.${LEAST_MINOR} or newer; this is Node ${process.versions.node}.\n` +
      '  Installed in a folder:  npm install node@24, in it; npx sluice <command> then runs on that\n' +
      '  In a clone:             npm run sluice -- <command>; its scripts bring their own Node 24\n' +
      '  With nvm:               nvm install 24\n',
  );
  process.exitCode = 2;
} else {
  const { keepCompiledCode } = await import('./compile-cache.ts');
  keepCompiledCode();
  const { main } = await import('./main.ts');
  await main();
}

export {};
