import { setTimeout as sleep } from 'node:timers/promises';
import { checkEqual, checkQuota, checkRuns } from '../compare.ts';
import type { Machine } from '../machine.ts';
import type { PartRun } from '../part.ts';
import { type PlaceKind, Scene } from '../scene.ts';

const LEASE_S = 5;
const MACHINES = 3;

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
    const machines: Machine[] = Array.from({ length: MACHINES }, () => scene.startMachine(2));
    const killedAtMs = new Map<number, number>();
    let kills = 0;
    let next = 0;
    let isDone = false;
    const killing = (async () => {
      for (;;) {
        await sleep(isLarge ? 7_000 : 9_000);
        if (isDone) return;
        const victim = next % MACHINES;
        next += 1;
        killedAtMs.set(machines[victim]?.pid ?? 0, Date.now());
        await machines[victim]?.kill();
        machines[victim] = scene.startMachine(2);
        kills += 1;
      }
    })();
    try {
      await scene.waitFor('every account to be clean', () => scene.areClean(1), isLarge ? 3_600 : 300);
    } finally {
      isDone = true;
    }
    await killing;
    const spent = scene.api.seen.length;
    const undisturbed = await scene.syncUndisturbed(1);
    await checkRuns(scene, verdicts, 1);
    await checkEqual(scene, verdicts, undisturbed.prints);
    checkQuota(scene, verdicts);
    const [first] = await scene.ask(
      `SELECT count(DISTINCT account)::int AS n FROM sluice_fleet.runs WHERE exit_code = 75`,
    );
    verdicts.check(
      'every first sync was deferred',
      Number(first?.['n']) === count,
      `${String(first?.['n'])} of ${count}`,
    );
    verdicts.check(
      'requests spent are at most twice those of an undisturbed run, and 12 for each run that was killed',
      spent <= undisturbed.requests * 2 + kills * 2 * 12,
      `${spent} for ${undisturbed.requests}, ${kills} kills`,
    );
    const lost = await scene.ask(
      `SELECT a.worker, extract(epoch FROM b.started_at)::float8 * 1000 AS at
         FROM sluice_fleet.runs a JOIN sluice_fleet.runs b ON a.account = b.account AND b.token = a.token + 1
        WHERE a.status = 'lost'`,
    );
    const tookS = lost
      .map(({ worker, at }) => (Number(at) - (killedAtMs.get(readPid(worker)) ?? NaN)) / 1_000)
      .toSorted((a, b) => a - b);
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

/** Names of workers have the process id in them. */
function readPid(worker: unknown): number {
  return Number(/-(\d+)-[0-9a-f]+$/.exec(String(worker))?.[1]);
}

function describeS(seconds: unknown): string {
  return `${Number(seconds ?? NaN).toFixed(1)} s`;
}
