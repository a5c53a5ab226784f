import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StreamReport } from '../../src/model/run-report.ts';
import { countRuns, leastSeen } from '../support/seeds.ts';
import {
  createItemsFlow,
  DAY_MS,
  eventsOf,
  type Flow,
  type FlowConfig,
  HOUR_MS,
  makeItems,
  noBuiltIns,
  streamOf,
} from '../support/sync-harness.ts';

// Scans of a part (--from, --limit), rebuilds, changed rules and a source that goes back to an earlier version: what a
// stream was once proved to be must not be claimed for the rows that it has now.

interface Setup {
  readonly key: readonly string[];
  readonly cursor: 'date' | 'updated' | 'off';
  readonly deletes: 'keep' | 'hard';
  readonly skipUnchanged: boolean;
}

type Step =
  | { readonly kind: 'sync'; readonly options: Parameters<Flow['sync']>[0] }
  | { readonly kind: 'source'; readonly version: number }
  | { readonly kind: 'config'; readonly setup: Setup }
  | { readonly kind: 'rebuild' }
  | { readonly kind: 'wait'; readonly hours: number };

const setups: fc.Arbitrary<Setup> = fc.record({
  key: fc.constantFrom(['id'], ['id', 'date']),
  cursor: fc.constantFrom('date', 'date', 'updated', 'off'),
  deletes: fc.constantFrom('keep', 'hard'),
  skipUnchanged: fc.boolean(),
});

const syncs = (...options: readonly NonNullable<Parameters<Flow['sync']>[0]>[]): fc.Arbitrary<Step> =>
  fc.constantFrom(...options).map((one) => ({ kind: 'sync' as const, options: one }));

const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: syncs({}) },
  { weight: 4, arbitrary: syncs({ from: '2026-01-04' }, { from: '2026-01-02' }, { limit: 20, force: true }) },
  { weight: 1, arbitrary: syncs({ force: true }, { fullRefresh: true }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('source' as const), version: fc.nat(2) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('config' as const), setup: setups }) },
  { weight: 2, arbitrary: fc.constant({ kind: 'rebuild' as const }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('wait' as const), hours: fc.constantFrom(2, 24) }) },
);

/** Histories in which the credit was once too large; in the first, each kind of skip comes up. */
const KNOWN: readonly (readonly [Setup, readonly Step[]])[] = [
  [
    { key: ['id'], cursor: 'date', deletes: 'hard', skipUnchanged: true },
    [
      { kind: 'sync', options: {} },
      { kind: 'sync', options: {} },
      { kind: 'sync', options: { force: true } },
      { kind: 'source', version: 1 },
      { kind: 'sync', options: { from: '2026-01-02' } },
      { kind: 'source', version: 0 },
      { kind: 'wait', hours: 2 },
      { kind: 'sync', options: {} },
    ],
  ],
  [
    { key: ['id'], cursor: 'date', deletes: 'keep', skipUnchanged: false },
    [
      { kind: 'sync', options: {} },
      { kind: 'source', version: 1 },
      { kind: 'sync', options: { limit: 20, force: true } },
      { kind: 'sync', options: { from: '2026-01-04' } },
      { kind: 'sync', options: {} },
    ],
  ],
  [
    { key: ['id'], cursor: 'date', deletes: 'keep', skipUnchanged: false },
    [
      { kind: 'sync', options: {} },
      { kind: 'wait', hours: 24 },
      { kind: 'sync', options: {} },
      { kind: 'config', setup: { key: ['id'], cursor: 'updated', deletes: 'keep', skipUnchanged: false } },
      { kind: 'rebuild' },
      { kind: 'sync', options: {} },
    ],
  ],
  [
    { key: ['id'], cursor: 'date', deletes: 'keep', skipUnchanged: false },
    [
      { kind: 'sync', options: {} },
      { kind: 'config', setup: { key: ['id'], cursor: 'updated', deletes: 'keep', skipUnchanged: false } },
      { kind: 'sync', options: { from: '2026-01-04' } },
      { kind: 'rebuild' },
    ],
  ],
];

type Item = ReturnType<typeof makeItems>[number] & { readonly updated: string };

/** Versions of the source: every third record has another name, the first one too; the last version lacks some. */
function makeVersion(version: number): readonly Item[] {
  const items = makeItems(60, { perDay: 12 }).map((item) => ({
    ...item,
    updated: item.date,
    name: item.id % 3 === 0 ? `version ${version}` : item.name,
  }));
  return version === 2 ? items.filter(({ id }) => id % 10 !== 7) : items;
}

/** A project, and what a reader of the documentation would expect of its next sync. */
interface Project {
  readonly flow: Flow;
  setup: Setup;
  version: number;
  /** The rules of the last scan that read all it had to and was verified; undefined once another one was less. */
  proved: Setup | undefined;
  /** The cursor of the scans that the watermark comes from. */
  cursor: Setup['cursor'] | undefined;
}

function toConfig({ key, cursor, ...rules }: Setup): FlowConfig {
  const items = {
    path: 'items',
    paginated: true,
    key: [...key],
    cursor: cursor === 'off' ? (false as const) : { field: cursor, param: 'startDate' },
    pageSize: 20,
    maxDeleteRatio: 1,
    ...rules,
  };
  return { streams: { ...noBuiltIns, items } };
}

/** How often each kind of skip came up. */
const seen = { fresh: 0, unchanged: 0, verified: 0 };

async function take(project: Project, step: Step): Promise<void> {
  const { flow } = project;
  switch (step.kind) {
    case 'sync':
      await sync(project, step.options ?? {});
      return;
    case 'source':
      project.version = step.version;
      flow.simulator.editRecords('items', () => makeVersion(step.version));
      return;
    case 'config':
      project.setup = step.setup;
      return;
    case 'rebuild': {
      const { exitCode } = await flow.rebuild({ config: toConfig(project.setup) });
      // The scans were loaded by the current rules; a cursor is about scans to come.
      if (exitCode === 0 && project.proved !== undefined) project.proved = project.setup;
      return;
    }
    case 'wait':
      await flow.clock.sleep(step.hours * HOUR_MS);
  }
}

async function sync(project: Project, options: NonNullable<Parameters<Flow['sync']>[0]>): Promise<void> {
  const { flow, setup } = project;
  const report = await flow.sync({ ...options, config: toConfig(setup) });
  expect(report.exitCode, report.error?.message).toBe(0);
  const stream = streamOf(report);
  const isPart = options.limit !== undefined || (options.from !== undefined && stream.mode !== 'full');
  if (stream.status === 'fresh') {
    seen.fresh += 1;
    expect({ proved: project.proved, cursor: project.cursor }).toMatchObject({
      proved: { key: setup.key, deletes: setup.deletes },
      cursor: setup.cursor,
    });
    return;
  }
  if (options.limit !== undefined) project.proved = undefined;
  if (isPart) return;
  if (project.cursor !== undefined && project.cursor !== setup.cursor) expect(stream.mode).toBe('full');
  expect(stream.verdict).toBe('verified');
  await assertAsInSource(project, stream);
  project.proved = setup;
  project.cursor = setup.cursor;
}

/** Whatever a scan of its usual extent calls verified is in the table, whether it was read or found unchanged. */
async function assertAsInSource(project: Project, { mode, reasons }: StreamReport): Promise<void> {
  const { flow, setup, version } = project;
  seen[reasons.some((reason) => reason.startsWith('nothing changed')) ? 'unchanged' : 'verified'] += 1;
  const from = eventsOf(flow, 'stream-started').at(-1)?.from ?? '';
  const first =
    mode === 'full' || from === '' ? '' : new Date(Date.parse(from) + DAY_MS).toISOString().slice(0, 10);
  const rows = await flow.query(`SELECT id, date, name FROM items WHERE date::VARCHAR >= '${first}'`);
  const held = new Set(rows.map(({ id, date, name }) => `${String(id)} ${String(date)} ${String(name)}`));
  const wanted = makeVersion(version)
    .filter(({ date }) => date >= first)
    .map(({ id, date, name }) => `${id} ${date} ${name}`);
  expect(wanted.filter((row) => !held.has(row))).toEqual([]);
  if (setup.deletes === 'hard') expect(rows).toHaveLength(wanted.length);
}

describe('any history of parts, rebuilds and rules', () => {
  it('claims for no row what was proved of another', { timeout: 1_800_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(setups, fc.array(steps, { minLength: 4, maxLength: 10 }), async (setup, history) => {
        const flow = createItemsFlow(makeVersion(0), { endpoint: { dateField: 'date' } });
        const project: Project = { flow, setup, version: 0, proved: undefined, cursor: undefined };
        for (const step of history) await take(project, step);
        await take(project, { kind: 'wait', hours: 2 });
        await take(project, { kind: 'sync', options: {} });
      }),
      {
        numRuns: countRuns(16),
        examples: KNOWN.map(([setup, history]) => [setup, [...history]]),
        endOnFailure: true,
      },
    );
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(leastSeen(0));
  });
});
