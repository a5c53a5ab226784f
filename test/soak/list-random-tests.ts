import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

// A test file takes its chances from one of these, so that one seed repeats it.
const CHANCE = /from '(fast-check|[./]+\/support\/seeds\.ts)'/;

/** Test files whose cases are random: properties, and loops over a number of runs. Paths from the root. */
export function listRandomTests(root: string): readonly string[] {
  return readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => `test/${file.replaceAll('\\', '/')}`)
    .filter((file) => CHANCE.test(readFileSync(join(root, file), 'utf8')))
    .toSorted();
}
