// Programs of others that the docs run. What they would do is not ours to test; that what they are given exists is.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { root } from '../markdown.ts';

interface Package {
  readonly version: string;
  readonly scripts: Readonly<Record<string, string>>;
}

const OURS = /^(docker|bench|notebooks|examples)\//;

const [program = '', ...args] = process.argv.slice(2);
const { version, scripts } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as Package;
if (program === 'npm' && args[0] === 'pack') writeFileSync(`sluice-${version}.tgz`, '');

// A program before it in a pipe must not write to nobody.
if (program.startsWith('target-')) process.stdin.resume();

const missing = [
  ...args.filter((arg) => OURS.test(arg) && !existsSync(path.join(root, arg))),
  ...args.filter((arg) => arg.endsWith('.tgz') && !existsSync(arg)),
  ...listScripts().filter((name) => !Object.hasOwn(scripts, name)),
];
if (missing.length > 0) {
  process.stderr.write(`${program}: there is no ${missing.join(', ')}\n`);
  process.exitCode = 1;
}

function listScripts(): readonly string[] {
  return program === 'npm' && args[0] === 'run' ? args.slice(1, 2) : [];
}
