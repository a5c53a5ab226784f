import type { Scene } from './scene.ts';
import type { Verdicts } from './verdicts.ts';

/** Whether every account has the tables of an undisturbed run. */
export async function checkEqual(
  scene: Scene,
  verdicts: Verdicts,
  expected: Readonly<Record<string, object>>,
): Promise<void> {
  const found = await scene.fingerprints();
  const wrong = scene.accounts.filter(
    (account) => JSON.stringify(found[account]) !== JSON.stringify(expected[account]),
  );
  const [first] = wrong;
  const seen = `${scene.accounts.length - wrong.length} of ${scene.accounts.length}`;
  const difference =
    first === undefined
      ? ''
      : ` ${first}: ${JSON.stringify(found[first])} for ${JSON.stringify(expected[first])}`;
  verdicts.check('tables equal an undisturbed run’s by value', wrong.length === 0, `${seen}${difference}`);
}

/** Whether every account ended exactly so many runs with exit code 0, and no two of its runs were committed at once. */
export async function checkRuns(scene: Scene, verdicts: Verdicts, clean: number): Promise<void> {
  const rows = await scene.ask(
    `SELECT account, count(*) FILTER (WHERE exit_code = 0)::int AS clean,
       count(*) FILTER (WHERE exit_code = 75)::int AS deferred, count(*) FILTER (WHERE status = 'lost')::int AS lost,
       count(*) FILTER (WHERE status <> 'lost' AND exit_code NOT IN (0, 75, 143))::int AS failed, count(*)::int AS runs
     FROM sluice_fleet.runs GROUP BY account`,
  );
  const errors = await scene.ask(
    `SELECT DISTINCT left(error ->> 'message', 200) AS error FROM sluice_fleet.runs
      WHERE status <> 'lost' AND exit_code NOT IN (0, 75, 143) LIMIT 3`,
  );
  const why = errors.map(({ error }) => `; ${String(error)}`).join('');
  const sum = (name: string) => rows.reduce((total, row) => total + Number(row[name]), 0);
  verdicts.check(
    `every account ended exactly ${clean} runs with exit code 0`,
    rows.length === scene.accounts.length && rows.every((row) => row['clean'] === clean),
    `${sum('runs')} runs: ${sum('clean')} clean, ${sum('deferred')} deferred, ${sum('lost')} lost, ${sum('failed')} failed${why}`,
  );
  const overlaps = await scene.ask(
    `SELECT a.account FROM sluice_fleet.runs a JOIN sluice_fleet.runs b
       ON a.account = b.account AND a.token < b.token AND a.status <> 'lost' AND a.finished_at > b.started_at`,
  );
  verdicts.check('no run was committed after the next one of its account had begun', overlaps.length === 0);
  const accepted = Map.groupBy(
    scene.lines.filter((line) => line['type'] === 'run-ended' && line['isAccepted'] === true),
    (line) => `${String(line['account'])} ${String(line['token'])}`,
  );
  const twice = [...accepted.values()].filter((lines) => lines.length > 1);
  verdicts.check('no run was committed twice', twice.length === 0, JSON.stringify(twice[0] ?? accepted.size));
}

/** Whether the API refused nothing. */
export function checkQuota(scene: Scene, verdicts: Verdicts): void {
  const { refused, mostInASecond, seen } = scene.api;
  verdicts.check('no answer 429', refused === 0, `${refused} of ${seen.length}`);
  verdicts.check(
    'never more than 10 requests of a key in a second',
    mostInASecond <= 10,
    `most ${mostInASecond}`,
  );
}
