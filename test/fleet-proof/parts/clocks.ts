import { existsSync } from 'node:fs';
import { checkEqual, checkQuota, checkRuns } from '../compare.ts';
import type { PartRun } from '../part.ts';
import { Scene } from '../scene.ts';

const WINDOW = 6;
const STREAMS = 4;
const DEFERRED = 'SELECT account FROM sluice_fleet.runs WHERE exit_code = 75 ORDER BY finished_at';
const LIBRARY = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1';

/** Two machines, one of which has a clock an hour ahead, take turns at accounts whose windows end again and again. */
export async function proveClocks({ stage, verdicts, isLarge }: PartRun): Promise<void> {
  if (!existsSync(LIBRARY)) {
    verdicts.check('libfaketime is there', false, 'apt-get install faketime');
    return;
  }
  const count = isLarge ? 20 : 4;
  const scene = await Scene.open(stage, {
    name: 'clocks',
    accounts: Object.fromEntries(Array.from({ length: count }, (_, at) => [`client-${at + 1}`, 'duckdb'])),
    leaseS: 8,
    api: {
      limits: { requests: WINDOW, windowMs: 5_000 },
      counts: { mentions: 40, prompts: 550, categories: 350, products: 60 },
    },
  });
  try {
    const other = (offset: string) => ({
      env: { LD_PRELOAD: LIBRARY, FAKETIME: offset, FAKETIME_DONT_FAKE_MONOTONIC: '1' },
    });
    const ahead = scene.startMachine(1, other('+3600'));
    await scene.waitFor('a run to be deferred', async () => (await scene.ask(DEFERRED)).length > 0);
    // The first machine leaves, so that what it began moves; then both are there.
    const right = scene.startMachine(1);
    await ahead.drain();
    const [moving] = await scene.ask(DEFERRED);
    await scene.waitFor('it to begin again', () => {
      return right.list('run-started', String(moving?.['account'])).length > 0;
    });
    scene.startMachine(1, other('+3600'));
    await scene.waitFor('every account to be clean', () => scene.areClean(1));
    const undisturbed = await scene.syncUndisturbed(1);
    await checkRuns(scene, verdicts, 1);
    await checkEqual(scene, verdicts, undisturbed.prints);
    checkQuota(scene, verdicts);
    const [skew] = ahead
      .list('run-started')
      .map((line) => Date.parse(String(line['time'])) - Number(line['seenAtMs']));
    const moves = await scene.ask(
      `SELECT extract(epoch FROM b.started_at - a.resume_at)::float8 AS late, a.worker <> b.worker AS moved
         FROM sluice_fleet.runs a JOIN sluice_fleet.runs b ON a.account = b.account AND b.token = a.token + 1
        WHERE a.exit_code = 75`,
    );
    const most = Math.max(...moves.map(({ late }) => Number(late)));
    const moved = moves.filter((row) => row['moved'] === true).length;
    verdicts.check(
      'both machines had runs, and accounts moved',
      moved > 0 && right.list('run-ended').length > 0,
      `${moved} of ${moves.length} deferrals, clock ahead by ${Math.round((skew ?? NaN) / 1000)} s`,
    );
    verdicts.check(
      'deferred runs began within seconds of the true time',
      most < 45,
      `most ${most.toFixed(1)} s late`,
    );
    const waits = await scene.ask(
      `SELECT max(extract(epoch FROM resume_at - finished_at))::float8 AS most FROM sluice_fleet.runs WHERE exit_code = 75`,
    );
    verdicts.check(
      'no run asked to wait for more than a window',
      Number(waits[0]?.['most']) < 10,
      `most ${String(waits[0]?.['most'])} s`,
    );
    // How many runs an account needs depends on the machine's speed; what each of them costs does not.
    const [runs] = await scene.ask(
      `SELECT count(*)::int AS all, count(*) FILTER (WHERE exit_code = 75)::int AS deferred FROM sluice_fleet.runs`,
    );
    const spent = scene.api.seen.length;
    verdicts.check(
      'no run was deferred before its window was used up',
      Number(runs?.['deferred']) * WINDOW <= spent,
      `${String(runs?.['deferred'])} windows of ${WINDOW}, ${spent} requests`,
    );
    verdicts.check(
      'each run asks once at most where each of its streams stands',
      spent <= undisturbed.requests + Number(runs?.['all']) * STREAMS,
      `${spent} for ${undisturbed.requests} in ${String(runs?.['all'])} runs`,
    );
  } finally {
    await scene.close();
  }
}
