import { checkEqual, checkQuota, checkRuns } from '../compare.ts';
import { KilledMachines } from '../kill-in-turn.ts';
import type { PartRun } from '../part.ts';
import type { PlaceKind } from '../project.ts';
import { Scene } from '../scene.ts';
import type { Verdicts } from '../verdicts.ts';

const LEASE_S = 5;
const MACHINES = 3;
/** A first sync, and one of rows that were restated and added since. */
const DAYS = 2;
/** More than a sync of what is new takes. */
const DAILY_REQUESTS = 20;

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
    await (isLarge ? checkTurns : checkSoon)(scene, verdicts, machines);
    verdicts.check('lanes print nothing', scene.noise.length === 0, scene.noise.slice(0, 3).join(' | '));
  } finally {
    await scene.close();
  }
}

/** Where lanes are free, nobody waits. */
async function checkSoon(scene: Scene, verdicts: Verdicts, machines: KilledMachines): Promise<void> {
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
}

/** Where all lanes are at work, what was cut off or deferred comes when it is its turn. */
async function checkTurns(scene: Scene, verdicts: Verdicts): Promise<void> {
  const [row] = await scene.ask(
    `SELECT coalesce(max(turns), 0)::int AS turns FROM (
       SELECT count(*) AS turns FROM sluice_fleet.runs a
         JOIN sluice_fleet.runs b ON a.account = b.account AND b.token = a.token + 1
         JOIN sluice_fleet.runs c ON c.account <> a.account AND c.started_at < b.started_at
          AND c.started_at > coalesce(a.resume_at, a.started_at)
        WHERE a.status = 'lost' OR a.exit_code = 75 GROUP BY a.account, a.token, c.account) AS between_runs`,
  );
  const turns = Number(row?.['turns']);
  verdicts.check(
    'until a killed or deferred run began again, no other account began more than twice',
    turns <= 2,
    `at most ${turns} times`,
  );
}

async function passDays(scene: Scene, patienceS: number): Promise<void> {
  for (let day = 1; day <= DAYS; day += 1) {
    scene.api.version = day;
    if (day > 1) {
      // What a later run would find fresh has to fit into one window.
      scene.readAgain();
      scene.api.limits = { ...scene.api.limits, requests: DAILY_REQUESTS };
      await scene.askForAll();
    }
    await scene.waitFor(`every account to be clean on day ${day}`, () => scene.areClean(day), patienceS);
  }
}

function describeS(seconds: unknown): string {
  return `${Number(seconds ?? NaN).toFixed(1)} s`;
}
