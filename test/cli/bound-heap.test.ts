import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const run = promisify(execFile);
const module = join(import.meta.dirname, '../../src/cli/prepare-process.ts');

/** Makes much that lives for a moment, and prints how large the young heap has become, in MB. */
const churn = `
  import { getHeapSpaceStatistics } from 'node:v8';
  import { boundHeap } from ${JSON.stringify(module)};
  if (process.env.BOUND === 'yes') boundHeap();
  let kept = [];
  const young = () => getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space').space_size / 2 ** 20;
  let most = 0;
  for (let round = 0; round < 100 && most < 60; round += 1) {
    for (let turn = 0; turn < 40; turn += 1) {
      kept = kept.slice(-30_000);
      for (let n = 0; n < 10_000; n += 1) kept.push({ n, text: 'x' + n });
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
    most = Math.max(most, young());
  }
  console.log(most);`;

async function growYoungHeap(isBound: boolean): Promise<number> {
  const env = { ...process.env, BOUND: isBound ? 'yes' : 'no', NODE_OPTIONS: '' };
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', churn], { env });
  return Number(stdout);
}

it('the young heap ends growing where it is large enough', async () => {
  const [free, bound] = await Promise.all([growYoungHeap(false), growYoungHeap(true)]);
  expect(free).toBeGreaterThanOrEqual(60);
  expect(bound).toBeLessThan(60);
});
