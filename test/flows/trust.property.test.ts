import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RunReport, StreamReport } from '../../src/model/run-report.ts';
import { createDailySource, type DailyRow, type DailySource } from '../support/daily-source.ts';
import { countRuns, leastSeen } from '../support/seeds.ts';
import {
  createFlow,
  DAY_MS,
  eventsOf,
  type Flow,
  HOUR_MS,
  noBuiltIns,
  START_MS,
} from '../support/sync-harness.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

// Random histories of a project: days pass, clocks are wrong, runs stop and are continued a day later, scans take
// longer than a day has hours, the config changes. Whatever the verdict calls verified has to be so.

/** What a user's config says of the stream. */
interface Setup {
  readonly key: 'auto' | readonly string[];
  readonly deletes: 'keep' | 'soft' | 'hard';
  readonly isSliced: boolean;
  readonly pageSize: number;
  readonly history: boolean;
}

/** One thing that happens. */
type Step =
  | { readonly kind: 'sync'; readonly options: Parameters<Flow['sync']>[0] }
  | { readonly kind: 'wait'; readonly hours: number }
  | { readonly kind: 'clock'; readonly wrongByHours: number }
  | { readonly kind: 'quota'; readonly requestsPerHour: number }
  | { readonly kind: 'config'; readonly setup: Setup };

const setups: fc.Arbitrary<Setup> = fc.record({
  key: fc.constantFrom('auto' as const, ['id'] as const),
  deletes: fc.constantFrom('keep', 'soft', 'hard'),
  isSliced: fc.boolean(),
  pageSize: fc.constantFrom(5, 5, 9, 40),
  history: fc.boolean(),
});

const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('sync' as const),
      options: fc.oneof(
        { weight: 4, arbitrary: fc.constant({}) },
        { weight: 1, arbitrary: fc.constant({ fullRefresh: true }) },
        { weight: 1, arbitrary: fc.constant({ maxWaitMs: 0 }) },
        { weight: 2, arbitrary: fc.record({ maxRequests: fc.integer({ min: 1, max: 9 }) }) },
        {
          weight: 1,
          arbitrary: fc.record({
            fullRefresh: fc.constant(true),
            maxRequests: fc.integer({ min: 2, max: 6 }),
          }),
        },
      ),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      hours: fc.constantFrom(1, 3, 9, 23, 24, 24, 24, 49),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('clock' as const),
      wrongByHours: fc.constantFrom(0, 0, -1, 1, -30, 30, 24 * 900, -24 * 40),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('quota' as const),
      requestsPerHour: fc.constantFrom(2, 4, 9, 1_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('config' as const), setup: setups }) },
);

/** A full scan that is stopped, and continued on the next day by a run that may not have requests for all of it. */
const overnight: fc.Arbitrary<readonly Step[]> = fc
  .tuple(fc.integer({ min: 3, max: 8 }), fc.constantFrom(13, 18, 23), fc.integer({ min: 4, max: 9 }))
  .map(([first, hours, second]) => [
    { kind: 'sync', options: { fullRefresh: true, maxRequests: first } },
    { kind: 'wait', hours },
    { kind: 'sync', options: { fullRefresh: true, maxRequests: second } },
  ]);

const histories = fc
  .array(
    fc.oneof(
      { weight: 8, arbitrary: steps.map((step): readonly Step[] => [step]) },
      { weight: 6, arbitrary: overnight },
    ),
    { minLength: 4, maxLength: 12 },
  )
  .map((parts) => parts.flat());

/** A history in which each outcome comes up, as few random ones may lack one. */
const EACH_OUTCOME: readonly [Setup, number, readonly Step[]] = [
  { key: 'auto', deletes: 'keep', isSliced: false, pageSize: 5, history: false },
  953_670,
  [
    { kind: 'sync', options: { fullRefresh: true, maxRequests: 8 } },
    { kind: 'wait', hours: 13 },
    { kind: 'sync', options: { fullRefresh: true, maxRequests: 6 } },
    { kind: 'sync', options: { maxRequests: 9 } },
    { kind: 'sync', options: {} },
    { kind: 'wait', hours: 3 },
    { kind: 'sync', options: { fullRefresh: true, maxRequests: 8 } },
    { kind: 'wait', hours: 18 },
    { kind: 'sync', options: { fullRefresh: true, maxRequests: 5 } },
  ],
];

function toStream(setup: Setup) {
  const { key, deletes, isSliced, pageSize, history } = setup;
  return {
    path: 'items',
    paginated: true,
    key: key === 'auto' ? ('auto' as const) : [...key],
    deletes,
    pageSize,
    history,
    maxDeleteRatio: 1,
    ...(isSliced && { params: { entity: ['a', 'b'] }, sliceBy: ['entity'] }),
  };
}

interface Project {
  readonly flow: Flow;
  readonly source: DailySource;
  setup: Setup;
  wrongByMs: number;
  /** The source's day on which a scan began that did not end yet: its pages may be of that day. */
  unfinishedSince: number | undefined;
}

function createProject(setup: Setup, seed: number): Project {
  const clock = createVirtualClock({ startMs: START_MS });
  const source = createDailySource(clock, seed);
  return {
    flow: createFlow({ clock, transport: source.transport }),
    source,
    setup,
    wrongByMs: 0,
    unfinishedSince: undefined,
  };
}

function sync({ flow, setup }: Project, options: Parameters<Flow['sync']>[0]): Promise<RunReport> {
  return flow.sync({ ...options, config: { streams: { ...noBuiltIns, items: toStream(setup) } } });
}

const inSlice = (slice: string) => (row: Partial<DailyRow>) =>
  slice === '' || slice === `entity=${row.entity}`;

async function readLive({
  flow,
  setup,
}: Project): Promise<readonly (DailyRow & { readonly _slice?: string })[]> {
  const { columns } = await flow.table('items');
  const live = '_deleted_at' in columns ? 'WHERE _deleted_at IS NULL' : '';
  const slice = setup.isSliced ? ', _slice' : '';
  return (await flow.query(
    `SELECT id, date, entity, amount${slice} FROM items ${live} ORDER BY id`,
  )) as never;
}

const toPlain = ({ id, date, entity, amount }: DailyRow) => `${id} ${date} ${entity} ${amount}`;

/** From which date on the last run read a stream or a slice; empty for all. */
function readFrom({ flow }: Project, slice: string): string {
  const started = eventsOf(flow, 'stream-started').findLast(({ stream }) => stream.includes(slice));
  return started?.from ?? '';
}

/** What is wrong with the rows of a verified stream, or slice, compared with the source's version of a day. */
async function findWrong(project: Project, report: StreamReport, day: number): Promise<readonly string[]> {
  const { setup, source } = project;
  const { mode, slice, rowsInApi, rowsInTable, difference } = report;
  const wanted = source.rows(day).filter(inSlice(slice));
  const live = (await readLive(project)).filter((row) => !setup.isSliced || row._slice === slice);
  const from = readFrom(project, slice);
  const firstWhole = from === '' ? '' : new Date(Date.parse(from) + DAY_MS).toISOString().slice(0, 10);
  const held = new Set(live.map(toPlain));
  const known = new Set(wanted.map(({ id }) => id));
  const lost = wanted.filter((row) => row.date >= firstWhole && !held.has(toPlain(row)));
  const twice = live.length - new Set(live.map(({ id }) => id)).size;
  const extra = live.filter(({ id }) => !known.has(id));
  const mayKeep = setup.deletes === 'keep' || mode !== 'full';
  return [
    ...lost.map((row) => `lost from ${firstWhole}: ${toPlain(row)}`),
    ...(twice > 0 ? [`${twice} rows are there twice`] : []),
    ...(mayKeep ? [] : extra.map((row) => `no longer in the source: ${toPlain(row)}`)),
    // Where both counts agree, they are those of the source and of the table.
    ...(difference === 0 && (rowsInApi !== wanted.length || rowsInTable !== live.length)
      ? [`counts ${rowsInApi} and ${rowsInTable} for ${wanted.length} and ${live.length}`]
      : []),
  ];
}

/** How often each outcome came up: a proof that saw none of a kind proves nothing about it. */
const seen = { verifiedIncremental: 0, unverified: 0, differing: 0 };

function countOutcome({ status, verdict, mode, rowsInApi, rowsInTable }: StreamReport): void {
  if (status !== 'complete') return;
  if (verdict === 'verified' && mode === 'incremental') seen.verifiedIncremental += 1;
  if (verdict === 'unverified') seen.unverified += 1;
  if (rowsInApi !== undefined && rowsInApi !== rowsInTable) seen.differing += 1;
}

/** Whatever is verified was so on one of the days on which its pages were read. */
async function assertTrue(project: Project, report: StreamReport, firstDay: number): Promise<void> {
  countOutcome(report);
  if (report.status !== 'complete' || report.verdict !== 'verified') return;
  const found: (readonly string[])[] = [];
  for (let day = firstDay; day <= project.source.day(); day += 1)
    found.push(await findWrong(project, report, day));
  if (found.some((wrong) => wrong.length === 0)) return;
  expect.fail(JSON.stringify({ found: found.at(-1), setup: project.setup, report }, undefined, 1));
}

describe('any history of a project', () => {
  it(
    'calls nothing verified that is not, and ends with what the source has',
    { timeout: 1_800_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(setups, fc.nat(1_000_000), histories, async (setup, seed, history) => {
          const project = createProject(setup, seed);
          for (const step of history) await take(project, step);
          await settle(project);
        }),
        { numRuns: countRuns(10), examples: [[...EACH_OUTCOME]], endOnFailure: true },
      );
      expect(Math.min(...Object.values(seen))).toBeGreaterThan(leastSeen(0));
    },
  );
});

async function take(project: Project, step: Step): Promise<void> {
  const { flow, source } = project;
  switch (step.kind) {
    case 'sync': {
      const firstDay = project.unfinishedSince ?? source.day();
      const report = await sync(project, step.options);
      const isUnfinished = report.streams.some(({ status }) => status !== 'complete' && status !== 'fresh');
      project.unfinishedSince = isUnfinished ? firstDay : undefined;
      expect([0, 4, 75], report.error?.message).toContain(report.exitCode);
      for (const stream of report.streams) await assertTrue(project, stream, firstDay);
      return;
    }
    case 'wait':
      await flow.clock.sleep(step.hours * HOUR_MS);
      return;
    case 'clock': {
      const wrongByMs = step.wrongByHours * HOUR_MS;
      flow.clock.stepWall(wrongByMs - project.wrongByMs);
      project.wrongByMs = wrongByMs;
      return;
    }
    case 'quota':
      source.setQuota(step.requestsPerHour);
      return;
    case 'config':
      project.setup = step.setup;
  }
}

/** A month in which nothing disturbs: the next full refresh brings what no incremental sync could see. */
async function settle(project: Project): Promise<void> {
  const { flow, source } = project;
  await take(project, { kind: 'clock', wrongByHours: 0 });
  source.setQuota(1_000);
  for (let days = 0; days < 2; days += 1) {
    await flow.clock.sleep(DAY_MS);
    await take(project, { kind: 'sync', options: {} });
  }
  await flow.clock.sleep(31 * DAY_MS);
  const report = await sync(project, {});
  expect(report.exitCode, report.error?.message).toBe(0);
  for (const stream of report.streams) {
    expect(stream).toMatchObject({ status: 'complete', verdict: 'verified', mode: 'full' });
    await assertTrue(project, stream, source.day());
  }
  const rows = new Map((await readLive(project)).map((row) => [row.id, toPlain(row)]));
  const wanted = source.rows();
  expect(wanted.filter((row) => rows.get(row.id) !== toPlain(row))).toEqual([]);
  if (project.setup.deletes !== 'keep') expect(rows.size).toBe(wanted.length);
}
