// Run before every test file: one seed for all of its properties, so that one number repeats them; and one end.
import fc from 'fast-check';
import { afterAll } from 'vitest';
import { endFile } from './after-file.ts';
import { countRuns, seed } from './seeds.ts';

fc.configureGlobal({ seed, numRuns: countRuns(100) });
afterAll(endFile);
