import { checkEqual, checkQuota, checkRuns } from '../compare.ts';
import { KilledMachines } from '../kill-in-turn.ts';
import type { PartRun } from '../part.ts';
import type { PlaceKind } from '../project.ts';
import { Scene } from '../scene.ts';

const LEASE_S = 5;
const MACHINES = 3;
/** A first sync, and one of rows that were restated and added since. */
const DAYS = 2;

/** Workers that are killed one after the other while windows end again and again. */
export async function proveStorm({ stage, verdicts, isLarge }: PartRun): Promise<void> {
  const count = Number(process.env['SLUICE_FLEET_ACCOUNTS'] ?? (isLarge ? 100 : 12));
  const kinds: readonly PlaceKind[] = ['duckdb', 'parquet', 'duckdb', 'ducklake'];
  const accounts = Object.fromEntries(
    Array.from({ length: count }, (_, at) => [`client-${at + 1}`, kinds[at % kinds.length] ?? 'duckdb']),
  );
  const scene = await Scene.open(stage, {
    name: 'storm',
    accounts,
    leaseS: LEASE_S,
    putEveryPages: 2,
    api: {
      limits: { requests: 8, windowMs: 6_000 },
      counts: { mentions: 40, prompts: 350, categories: 150, products: 60 },
    },
  });
  try {
    const machines = new KilledMachines(scene, { count: MACHINES, lanes: isLarge ? 1 : 2 });
    const done = passDays(scene, isLarge ? 3_600 : 300);
    await machines.during(isLarge ? 5_000 : 4_000, done, isLarge ? Infinity : 7);
    const spent = scene.api.seen.length;
    const undisturbed = await scene.syncUndisturbed(DAYS);
    await checkRuns(scene, verdicts, DAYS);
    await checkEqual(scene, verdicts, undisturbed.prints);
    checkQuota(scene, verdicts);
    const [first] = await scene.ask(
      `SELECT count(DISTINCT account)::int AS n FROM sluice_fleet.runs WHERE exit_code = 75 OR status = 'lost'`,
    );
    verdicts.check(
      'every account was deferred or killed at least once',
      Number(first?.['n']) === count,
      `${String(first?.['n'])} of ${count}`,
    );
    verdicts.check(
      'requests spent are at most twice those of an undisturbed run, and 12 for each run that was killed',
      spent <= undisturbed.requests * 2 + machines.kills * 2 * 12,
      `${spent} for ${undisturbed.requests}, ${machines.kills} kills`,
    );
    const tookS = await machines.readRecoveries();
    verdicts.check(
      'killed runs began again soon after their leases had ended',
      tookS.every((seconds) => seconds < LEASE_S + 30),
      `p50 ${describeS(tookS[Math.floor(tookS.length / 2)])}, most ${describeS(tookS.at(-1))}`,
    );
    const [late] = await scene.ask(
      `SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY s)::float8 AS p50, max(s)::float8 AS most FROM (
         SELECT extract(epoch FROM b.started_at - a.resume_at) AS s
           FROM sluice_fleet.runs a JOIN sluice_fleet.runs b ON a.account = b.account AND b.token = a.token + 1
          WHERE a.exit_code = 75) AS deferred`,
    );
    verdicts.check(
      'deferred runs began again within seconds of the time when they could',
      Number(late?.['most']) < 60,
      `p50 ${describeS(late?.['p50'])} late, most ${describeS(late?.['most'])}`,
    );
    verdicts.check('lanes print nothing', scene.noise.length === 0, scene.noise.slice(0, 3).join(' | '));
  } finally {
    await scene.close();
  }
}

async function passDays(scene: Scene, patienceS: number): Promise<void> {
  for (let day = 1; day <= DAYS; day += 1) {
    scene.api.version = day;
    if (day > 1) await scene.askForAll();
    await scene.waitFor(`every account to be clean on day ${day}`, () => scene.areClean(day), patienceS);
  }
}

function describeS(seconds: unknown): string {
  return `${Number(seconds ?? NaN).toFixed(1)} s`;
}
