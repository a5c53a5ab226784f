import { checkEqual, checkQuota, checkRuns } from '../compare.ts';
import type { PartRun } from '../part.ts';
import { Scene } from '../scene.ts';

/** Accounts with one key, at once on two machines. */
export async function proveSharedKey({ stage, verdicts, isLarge }: PartRun): Promise<void> {
  const count = isLarge ? 12 : 4;
  const scene = await Scene.open(stage, {
    name: 'shared',
    accounts: Object.fromEntries(Array.from({ length: count }, (_, at) => [`client-${at + 1}`, 'duckdb'])),
    leaseS: 8,
    sharedKey: 'key-of-all',
    api: {
      limits: { requests: 45, windowMs: 10_000 },
      counts: { mentions: 40, prompts: 650, categories: 350, products: 160 },
      latencyMs: 30,
    },
  });
  try {
    const machines = [1, 2].map(() => scene.startMachine(2));
    await scene.waitFor('every account to be clean', () => scene.areClean(1));
    const undisturbed = await scene.syncUndisturbed(1);
    await checkRuns(scene, verdicts, 1);
    await checkEqual(scene, verdicts, undisturbed.prints);
    checkQuota(scene, verdicts);
    const both = machines.every((machine) => machine.list('run-ended').length > 0);
    verdicts.check('both machines had runs', both);
    verdicts.check(
      'requests spent are at most a fifth more than those of an undisturbed run, and two for each run',
      scene.api.seen.length <=
        undisturbed.requests * 1.2 + 2 * scene.lines.filter(({ type }) => type === 'run-ended').length,
      `${scene.api.seen.length} for ${undisturbed.requests}`,
    );
  } finally {
    await scene.close();
  }
}
