// Run before every test file: one seed for all of its properties, so that one number repeats them.
import fc from 'fast-check';
import { seed } from './seeds.ts';

fc.configureGlobal({ seed });
