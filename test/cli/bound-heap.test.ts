import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const run = promisify(execFile);
const module = join(import.meta.dirname, '../../src/cli/prepare-process.ts');

/** Prints the most of a measure of one space of the heap, in MB, while rounds of work make garbage. */
const watch = (space: string, measure: string, round: string) => `
  import { getHeapSpaceStatistics } from 'node:v8';
  import { boundHeap } from ${JSON.stringify(module)};
  if (process.env.BOUND === 'yes') boundHeap();
  const read = () => getHeapSpaceStatistics().find(({ space_name: name }) => name === '${space}').${measure} / 2 ** 20;
  let kept = [];
  let most = 0;
  for (let round = 0; round < 150; round += 1) {
    ${round}
    await new Promise((resolve) => setTimeout(resolve, 1));
    most = Math.max(most, read());
  }
  console.log(most);`;

/** Much that lives for a moment. */
const youngHeap = watch(
  'new_space',
  'space_size',
  `for (let turn = 0; turn < 40; turn += 1) {
     kept = kept.slice(-30_000);
     for (let n = 0; n < 10_000; n += 1) kept.push({ n, text: 'x' + n });
   }
   if (most >= 60) break;`,
);

/** Much that lives for as long as 400,000 others come. */
const oldHeap = watch(
  'old_space',
  'space_used_size',
  `for (let n = 0; n < 40_000; n += 1) kept[(round * 40_000 + n) % 400_000] = { n, text: 'x' + n + round };`,
);

async function grow(program: string, isBound: boolean): Promise<number> {
  const env = { ...process.env, BOUND: isBound ? 'yes' : 'no', NODE_OPTIONS: '' };
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], { env });
  return Number(stdout);
}

it('the young heap ends growing where it is large enough', async () => {
  const [free, bound] = await Promise.all([grow(youngHeap, false), grow(youngHeap, true)]);
  expect(free).toBeGreaterThanOrEqual(60);
  expect(bound).toBeLessThan(60);
});

it('the old heap is collected before it holds much more than is in use', async () => {
  const [free, bound] = await Promise.all([grow(oldHeap, false), grow(oldHeap, true)]);
  expect(free).toBeGreaterThanOrEqual(100);
  expect(bound).toBeLessThan(100);
});
