import { setTimeout as sleep } from 'node:timers/promises';
import { checkEqual, checkQuota, checkRuns } from '../compare.ts';
import { startPostgres } from '../../support/lake-servers.ts';
import { Gate } from '../gate.ts';
import type { PartRun } from '../part.ts';
import { Scene } from '../scene.ts';

const LEASE_S = 6;

/** The database of the fleet is killed and comes back, and later the object store is away for longer than a lease. */
export async function proveOutages({ stage: shared, verdicts, isLarge }: PartRun): Promise<void> {
  // Of its own: others need theirs meanwhile.
  const stage = { ...shared, postgres: await startPostgres({ keepsCommits: true }) };
  const count = isLarge ? 24 : 6;
  const kinds = ['duckdb', 'ducklake', 'parquet'] as const;
  const accounts = Object.fromEntries(
    Array.from({ length: count }, (_, at) => [`client-${at + 1}`, kinds[at % kinds.length] ?? 'duckdb']),
  );
  const scene = await Scene.open(stage, {
    name: 'outages',
    accounts,
    leaseS: LEASE_S,
    putEveryPages: 2,
    api: {
      limits: { requests: 9, windowMs: 6_000 },
      counts: { mentions: 40, prompts: 350, categories: 150, products: 60 },
    },
  });
  const gate = await new Gate(Number(stage.store.endpoint.split(':')[1])).start();
  try {
    const machines = [1, 2].map(() => scene.startMachine(2, { storePort: gate.port }));
    const countStarts = () => scene.lines.filter(({ type }) => type === 'run-started').length;
    await scene.waitFor('the first runs', () => countStarts() >= 3);
    await stage.postgres.crash();
    await sleep(isLarge ? 10_000 : 3_000);
    await stage.postgres.startAgain();
    const startsBefore = countStarts();
    await scene.waitFor('runs after the crash', () => countStarts() > startsBefore);
    gate.close();
    await sleep(isLarge ? 60_000 : 12_000);
    gate.open();
    await scene.waitFor('every account to be clean', () => scene.areClean(1), 300);
    verdicts.check(
      'no worker ended',
      machines.every((machine) => machine.isRunning),
    );
    const undisturbed = await scene.syncUndisturbed(1);
    await checkRuns(scene, verdicts, 1);
    await checkEqual(scene, verdicts, undisturbed.prints);
    checkQuota(scene, verdicts);
    verdicts.check(
      'requests spent are at most twice those of an undisturbed run',
      scene.api.seen.length <= undisturbed.requests * 2,
      `${scene.api.seen.length} for ${undisturbed.requests}`,
    );
    verdicts.check('lanes print nothing', scene.noise.length === 0, scene.noise.slice(0, 3).join(' | '));
  } finally {
    await scene.close();
    gate.stop();
    await stage.postgres.stop();
  }
}
