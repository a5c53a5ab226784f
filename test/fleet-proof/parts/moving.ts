import { checkEqual, checkQuota } from '../compare.ts';
import type { PartRun } from '../part.ts';
import { Scene } from '../scene.ts';

const WINDOW = 8;

/** A stream of several windows, each of which is read by another machine: the one before was killed with its disk. */
export async function proveMoving({ stage, verdicts, isLarge }: PartRun): Promise<void> {
  const scene = await Scene.open(stage, {
    name: 'moving',
    accounts: { 'client-1': 'duckdb' },
    leaseS: 4,
    putEveryPages: 2,
    api: {
      limits: { requests: WINDOW, windowMs: 3_000 },
      counts: { mentions: 20, prompts: isLarge ? 20_000 : 3_500, categories: 40, products: 40 },
    },
  });
  try {
    let machines = 0;
    let isClean = false;
    while (!isClean && machines < 200) {
      const machine = scene.startMachine(1);
      machines += 1;
      await scene.waitFor('a run to end', () => machine.list('run-ended').length > 0, 60);
      await machine.kill();
      isClean = await scene.areClean(1);
    }
    const undisturbed = await scene.syncUndisturbed(1);
    const spent = scene.api.seen.length;
    verdicts.check(
      'a stream of several windows ends although each run is on another machine',
      isClean,
      `${machines} machines`,
    );
    verdicts.check(
      'pages are kept: requests are those of one scan, and one more for each run',
      spent <= undisturbed.requests + machines + 4,
      `${spent} for ${undisturbed.requests}`,
    );
    await checkEqual(scene, verdicts, undisturbed.prints);
    checkQuota(scene, verdicts);
  } finally {
    await scene.close();
  }
}
