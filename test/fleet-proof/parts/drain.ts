import { checkEqual, checkQuota, checkRuns } from '../compare.ts';
import { Gate } from '../gate.ts';
import type { PartRun } from '../part.ts';
import { Scene } from '../scene.ts';
import type { Verdicts } from '../verdicts.ts';

const PROMPTS = 3_000;
const LEASE_S = 8;

/** SIGTERM while a stream is read: its pages are put away, and not asked for again. */
export async function proveDrain({ stage, verdicts }: PartRun): Promise<void> {
  const scene = await Scene.open(stage, {
    name: 'drain',
    accounts: { 'client-1': 'duckdb', 'client-2': 'parquet' },
    leaseS: LEASE_S,
    api: {
      limits: { requests: 600, windowMs: 3_600_000 },
      counts: { mentions: 20, prompts: PROMPTS, categories: 40, products: 40 },
      latencyMs: 250,
    },
  });
  try {
    const first = scene.startMachine(2);
    const pages = () => scene.api.seen.filter(({ path }) => path === 'prompts/analytics').length;
    await scene.waitFor('pages of a long stream', () => pages() >= 16);
    const tookMs = await first.drain();
    const before = scene.api.seen.length;
    verdicts.check('it ends within seconds', tookMs < 15_000, `${(tookMs / 1000).toFixed(1)} s`);
    verdicts.check('its exit code is 143', first.exitCode === 143, String(first.exitCode));
    const runs = await scene.ask(`SELECT account, exit_code, status FROM sluice_fleet.runs`);
    verdicts.check(
      'both runs were put away',
      runs.length === 2 && runs.every((run) => run['exit_code'] === 143 && run['status'] === 'ended'),
      JSON.stringify(runs),
    );
    await drainWithoutDatabase(scene, verdicts, Number(new URL(stage.postgres.url).port));
    scene.api.latencyMs = 0;
    scene.startMachine(2);
    await scene.waitFor('every account to be clean', () => scene.areClean(1));
    const undisturbed = await scene.syncUndisturbed(1);
    await checkRuns(scene, verdicts, 1);
    await checkEqual(scene, verdicts, undisturbed.prints);
    checkQuota(scene, verdicts);
    verdicts.check(
      'what was paid for is not asked for again',
      scene.api.seen.length <= undisturbed.requests + 2 * 4,
      `${before} before, ${scene.api.seen.length} in all, ${undisturbed.requests} undisturbed`,
    );
  } finally {
    await scene.close();
  }
}

/** SIGTERM while the database is away: nothing can be committed, and the worker must not wait for it without end. */
async function drainWithoutDatabase(scene: Scene, verdicts: Verdicts, databasePort: number): Promise<void> {
  const gate = await new Gate(databasePort).start();
  try {
    const machine = scene.startMachine(2, { databasePort: gate.port });
    await scene.waitFor('runs on another machine', () => machine.list('run-started').length > 0);
    gate.close();
    const tookMs = await machine.drain();
    verdicts.check(
      'it ends without its database, within seconds of its leases',
      machine.exitCode === 143 && tookMs < (LEASE_S + 30) * 1_000,
      `exit code ${machine.exitCode}, ${(tookMs / 1000).toFixed(1)} s`,
    );
  } finally {
    gate.stop();
  }
}
