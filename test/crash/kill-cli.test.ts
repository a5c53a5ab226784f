import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectors } from '../../connectors/registry.ts';
import { parseConfig } from '../../src/config/load-config.ts';
import { resolveOfflineSettings } from '../../src/config/resolve-settings.ts';
import { sync } from '../../src/index.ts';
import { readStatus } from '../../src/commands/status.ts';
import { type ChildProject, createChildProject } from '../support/cli-child.ts';
import { hookSteps } from '../support/io-steps.ts';
import { inOneDay } from '../support/in-one-day.ts';
import { queryCopy } from '../support/published.ts';
import { countScanRequests, makeItems } from '../support/sync-harness.ts';
import type { CrashPoint } from './crash-point.ts';
import { type Outcome, readOutcome, readStagedOffsets } from './read-outcome.ts';

const ROWS = 200;
const PAGE = 40;
const CLEAN = countScanRequests(ROWS, PAGE);
const PAGES = CLEAN - 1;
const MOST_IN_FLIGHT = 16;
const preload = join(import.meta.dirname, 'crash-point.ts');

const projects: ChildProject[] = [];
afterAll(async () => {
  await Promise.all(projects.map(({ server }) => server.close()));
});

/** A project with a server of its own, so that several can be killed at once. */
async function createProject(): Promise<ChildProject> {
  const project = await createChildProject({ records: makeItems(ROWS), stream: { pageSize: PAGE } });
  projects.push(project);
  return project;
}

/** The source of a second sync, which needs other columns, wider types and fewer rows. */
function moveOn({ simulator }: ChildProject): void {
  simulator.editRecords('items', (records) => [
    ...makeItems(3, { from: 900 }).map((item) => ({ ...item, amount: 1.25, note: { by: 'me' } })),
    ...records.slice(5).map((record, at) => ({ ...(record as object), ...(at % 2 === 0 && { name: 17 }) })),
  ]);
}

async function runKilled(project: ChildProject, point: CrashPoint, ...args: string[]): Promise<void> {
  const env = { CRASH_AT: JSON.stringify(point) };
  const end = await project.run(['sync', '--no-progress', ...args], { preload, env });
  expect(end, `killed ${describePoint(point)}`).toMatchObject({ signal: 'SIGKILL', stdout: '' });
}

/** The names of the steps of a sync, in order. */
async function listSteps(project: ChildProject, options: Parameters<typeof sync>[1] = {}): Promise<string[]> {
  const names: string[] = [];
  const undo = await hookSteps({ before: ({ name }) => void names.push(name) }, (path) =>
    path.startsWith(project.folder),
  );
  const report = await sync(project.config, options).finally(undo);
  expect(report.error).toBeUndefined();
  return names;
}

function describePoint({ step, nth, when }: CrashPoint): string {
  return `${when} ${step}${nth > 1 ? ` for the ${nth}th time` : ''}`;
}

const isChange = (step: string) => /^sql (?:CREATE|ALTER|DROP)/.test(step) && !/TEMP|temp\./.test(step);
const named = (points: readonly CrashPoint[]) =>
  points.map((point) => [describePoint(point), point] as const);

/** The nth time a step is made, for each index of a list of steps. */
function nthOf(steps: readonly string[], at: number): number {
  return steps.slice(0, at + 1).filter((step) => step === steps[at]).length;
}

const firstProject = await createProject();
const firstSteps = await listSteps(firstProject);
const laterProject = await createProject();
await sync(laterProject.config);
moveOn(laterProject);
const laterSteps = await listSteps(laterProject, { force: true });

const commits = firstSteps.flatMap((step, at) => (step === 'sql COMMIT' ? [at] : []));
const lastCommit = commits.at(-1) ?? 0;
const dataCommit = firstSteps.findIndex(
  (step, at) => step === 'sql COMMIT' && at > firstSteps.indexOf('sql CREATE TABLE main.items'),
);

const commitPoints = commits.flatMap((at) =>
  (['before', 'after'] as const).map((when) => ({ step: 'sql COMMIT', nth: nthOf(firstSteps, at), when })),
);
/** From the last commit on, each step but looks, those that affect only one process, and progress, whose time varies. */
const publishPoints = firstSteps.flatMap((step, at): CrashPoint[] =>
  at <= lastCommit || /^sql (?!CHECKPOINT)|^read|^openSync|^writeFileSync|progress\.json/.test(step)
    ? []
    : [{ step, nth: nthOf(firstSteps, at), when: 'before' }],
);
/** One point for each kind of change; creating one table of `_sluice` is like creating another. */
function changePoints(steps: readonly string[]): readonly CrashPoint[] {
  const kinds = new Map(
    steps.filter(isChange).map((step) => [step.replace(/TABLE _sluice\..*/, 'TABLE'), step]),
  );
  return [...kinds.values()].map((step) => ({ step, nth: 1, when: 'after' }));
}
const knownChanges = new Set(firstSteps.filter(isChange));

let expected: Outcome;
let expectedLater: Outcome;
/** What a third sync gives: it is the one that proves the cursor. */
let expectedThird: Outcome;
beforeAll(async () => {
  expected = await readOutcome(firstProject.duckdb);
  expectedLater = await readOutcome(laterProject.duckdb);
  await sync(laterProject.config, { force: true });
  expectedThird = await readOutcome(laterProject.duckdb);
});

describe.concurrent('the command line, killed in its first sync', () => {
  it('has points to be killed at', () => {
    expect(commitPoints.length).toBeGreaterThanOrEqual(6);
    expect(publishPoints.map(({ step }) => step)).toEqual(
      expect.arrayContaining([
        'copyFile work.duckdb',
        'rename .warehouse.duckdb..tmp',
        'renameSync published.json.tmp',
      ]),
    );
  });

  it.each(named([...commitPoints, ...changePoints(firstSteps), ...publishPoints]))(
    '%s: the next run gives what an undisturbed one gives',
    inOneDay(async (_, point) => {
      const project = await createProject();
      await runKilled(project, point);
      const at = firstSteps.findIndex(
        (step, index) => step === point.step && nthOf(firstSteps, index) === point.nth,
      );
      const isCommitted = at > dataCommit || (at === dataCommit && point.when === 'after');
      const before = project.simulator.arrivals.requests;
      const report = await sync(project.config);
      expect(report).toMatchObject({ exitCode: 0, warnings: [] });
      expect(await readOutcome(project.duckdb)).toEqual(expected);
      if (isCommitted) expect(report.requests).toBe(0);
      // Whatever was asked for before the kill is staged, but for the look at the head that says it still holds.
      else expect(before + report.requests).toBeLessThanOrEqual(CLEAN + 2);
      // Nothing that a killed run left lies around.
      expect(readdirSync(project.folder).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    }),
  );

  it.each([1, 2])(
    'when %i lots of pages are staged: they are not asked for again',
    inOneDay(async (nth) => {
      const project = await createProject();
      await runKilled(project, { step: 'datasync pages.ndjson', nth, when: 'after' });
      const staged = readStagedOffsets(project.stateDir, 'items');
      expect(staged.length).toBeGreaterThanOrEqual(nth);
      const before = project.simulator.log.length;
      expect((await sync(project.config)).exitCode).toBe(0);
      expect(await readOutcome(project.duckdb)).toEqual(expected);
      const asked = project.simulator.log
        .slice(before)
        .map(({ query }) => Number(new URLSearchParams(query).get('offset')));
      expect(asked.filter((offset) => offset > 0 && staged.includes(offset))).toEqual([]);
      expect(before).toBeLessThanOrEqual(staged.length + MOST_IN_FLIGHT);
    }),
  );

  it(
    'comes to an end when every run is killed after its first new page',
    inOneDay(async () => {
      const project = await createProject();
      const env = { CRASH_AT: JSON.stringify({ step: 'datasync pages.ndjson', nth: 1, when: 'after' }) };
      let kills = 0;
      for (; kills < PAGES + 2; kills += 1) {
        const end = await project.run(['sync', '--no-progress'], { preload, env });
        if (end.signal === null) break;
      }
      expect(kills).toBeGreaterThan(0);
      expect(kills).toBeLessThan(PAGES + 2);
      expect(await readOutcome(project.duckdb)).toEqual(expected);
      expect(project.simulator.arrivals.requests).toBeLessThanOrEqual(CLEAN + kills * (1 + MOST_IN_FLIGHT));
    }),
  );
});

describe.concurrent('the command line, killed in a later sync', () => {
  const points = changePoints(laterSteps.filter((step) => !knownChanges.has(step)));
  const committed: readonly CrashPoint[] = [
    { step: 'sql COMMIT', nth: 2, when: 'after' },
    { step: 'rename .warehouse.duckdb..tmp', nth: 1, when: 'before' },
  ];

  async function killAndGoOn(point: CrashPoint): Promise<Outcome> {
    const project = await createProject();
    expect((await sync(project.config)).exitCode).toBe(0);
    moveOn(project);
    await runKilled(project, point, '--force');
    expect(await readOutcome(project.duckdb)).toEqual(expected);
    expect((await sync(project.config, { force: true })).exitCode).toBe(0);
    return readOutcome(project.duckdb);
  }

  it('has changes of tables to be killed after', () => {
    expect(points.length).toBeGreaterThan(0);
  });

  it.each(named(points))(
    '%s: readers keep what they had until the next run gives what an undisturbed one gives',
    async (_, point) => {
      expect(await killAndGoOn(point)).toEqual(expectedLater);
    },
  );

  it.each(named(committed))(
    '%s: readers keep what they had until the next run publishes what was committed',
    async (_, point) => {
      expect(await killAndGoOn(point)).toEqual(expectedThird);
    },
  );
});

describe('the record of a run that was killed', () => {
  it('says so at once, and keeps saying so in the published history', async () => {
    const project = await createProject();
    await runKilled(project, { step: 'datasync pages.ndjson', nth: 1, when: 'after' });
    const loaded = parseConfig(project.config);
    const settings = resolveOfflineSettings({ loaded, connectors, env: {}, nowMs: Date.now() });
    expect((await readStatus(settings)).lastRun).toMatchObject({ status: 'killed' });
    expect((await sync(project.config)).exitCode).toBe(0);
    expect((await readStatus(settings)).lastRun).toMatchObject({ status: 'complete' });
    const { rows } = await queryCopy(
      project.duckdb,
      'SELECT status, exit_code IS NULL AND finished_at IS NULL AS open FROM _sluice.runs ORDER BY started_at',
    );
    expect(rows).toEqual([
      { status: 'killed', open: true },
      { status: 'complete', open: false },
    ]);
    expect(existsSync(project.duckdb)).toBe(true);
  });
});

describe('pages that were committed and not dropped', () => {
  it('do not serve a later scan: what changed behind the head since then arrives', async () => {
    const project = await createProject();
    const stage = join(project.stateDir, 'stage');
    const kept = join(project.folder, 'kept-stage');
    await sync(project.config, {
      fullRefresh: true,
      onProgress: ({ type }) => {
        if (type === 'stream-loading') cpSync(stage, kept, { recursive: true });
      },
    });
    // The process died between the commit and the removal of its stage.
    cpSync(kept, stage, { recursive: true });
    expect(readFileSync(join(stage, 'items', 'pages.ndjson'), 'utf8')).not.toBe('');
    project.simulator.editRecords('items', (records) =>
      records.map((record, at) => (at === 150 ? { ...(record as object), name: 'restated' } : record)),
    );
    const report = await sync(project.config, { fullRefresh: true });
    expect(report.exitCode).toBe(0);
    const { rows } = await queryCopy(project.duckdb, `SELECT id FROM main.items WHERE name = 'restated'`);
    expect(rows).toEqual([{ id: 150 }]);
  });
});
