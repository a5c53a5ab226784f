import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Database } from '../../src/warehouse/database.ts';
import { evolveTable, readColumns, tableExists } from '../../src/warehouse/evolve-table.ts';
import { type AbsentRows, mergeRows } from '../../src/warehouse/merge-rows.ts';
import type { ColumnPlan } from '../../src/schema/resolve-columns.ts';
import { countRuns } from '../support/seeds.ts';
import { openTempDatabase } from '../support/temp-database.ts';
import {
  COLUMNS,
  mergeModel,
  type Model,
  type ModelRequest,
  type ModelRow,
  type ModelVersion,
  type Row,
  showRows,
  showVersions,
  TYPES,
} from './merge-model.ts';

const plans: readonly ColumnPlan[] = COLUMNS.map((name, at) => ({
  path: [name],
  name,
  type: TYPES[at] ?? 'VARCHAR',
  existingType: TYPES[at],
  takes: 0,
  companion: false,
}));

function literal(value: string | number | null): string {
  return value === null ? 'NULL' : typeof value === 'number' ? String(value) : `'${value}'`;
}

/** One scan, as a commit runs it. */
async function merge(database: Database, rows: readonly Row[], request: ModelRequest, history: boolean) {
  const { key, absent, insertOnly, slice, run, at } = request;
  const definitions = COLUMNS.map((name, index) => `${name} ${TYPES[index] ?? ''}`).join(', ');
  await database.run(`CREATE OR REPLACE TEMP TABLE "~incoming" (_sluice_position BIGINT, ${definitions})`);
  if (rows.length > 0) {
    const values = rows.map((row, position) => `(${[position, ...row.map(literal)].join(', ')})`);
    await database.run(`INSERT INTO temp."~incoming" VALUES ${values.join(', ')}`);
  }
  const exists = await tableExists(database, 'rows');
  return database.transaction(async () => {
    await evolveTable(database, { name: 'rows', exists }, plans, {
      sliced: slice !== '',
      softDeletes: absent !== 'keep' && absent.how === 'soft',
      history,
    });
    return mergeRows(database, {
      table: 'rows',
      columns: COLUMNS,
      key,
      absent,
      insertOnly,
      slice,
      adoptBy: [],
      history,
      runId: run,
      syncedAt: at,
    });
  });
}

const VALUES = 'id, day::VARCHAR AS day, v, t, _run_id AS run';
const toIso = (value: unknown) => (value instanceof Date ? value.toISOString() : null);
const toText = (value: unknown) => (typeof value === 'string' ? value : null);
const toRow = (row: Readonly<Record<string, unknown>>): Row => [
  row['id'] === null ? null : Number(row['id']),
  toText(row['day']),
  row['v'] as number | null,
  toText(row['t']),
];

async function readTable(database: Database): Promise<readonly ModelRow[]> {
  const columns = await readColumns(database, 'rows');
  const own = ['_slice', '_deleted_at'].map((name) => (columns.has(name) ? name : `NULL AS ${name}`));
  const rows = await database.all(`SELECT ${VALUES}, _synced_at, ${own.join(', ')} FROM main.rows`);
  return rows.map((row) => ({
    row: toRow(row),
    slice: toText(row['_slice']),
    run: String(row['run']),
    at: toIso(row['_synced_at']) ?? '',
    deletedAt: toIso(row['_deleted_at']),
  }));
}

async function readHistory(database: Database): Promise<readonly ModelVersion[]> {
  const columns = await readColumns(database, 'rows_history');
  if (columns.size === 0) return [];
  const slice = columns.has('_slice') ? '_slice' : 'NULL AS _slice';
  const rows = await database.all(
    `SELECT ${VALUES}, _valid_from, _valid_to, ${slice} FROM main.rows_history`,
  );
  return rows.map((row) => ({
    row: toRow(row),
    slice: toText(row['_slice']),
    run: String(row['run']),
    from: toIso(row['_valid_from']) ?? '',
    to: toIso(row['_valid_to']),
  }));
}

/** The open versions are the live rows: the same values, written by the same run at the same time. */
function assertInStep(table: readonly ModelRow[], history: readonly ModelVersion[]): void {
  const open = history.filter(({ to }) => to === null);
  const live = table.filter(({ deletedAt }) => deletedAt === null);
  expect(showVersions(open)).toEqual(
    showVersions(live.map(({ row, slice, run, at }) => ({ row, slice, run, from: at, to: null }))),
  );
}

const orNull = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null, freq: 4 });
// Few different rows, so that equal ones and equal keys are common.
const row: fc.Arbitrary<Row> = fc.tuple(
  orNull(fc.constantFrom(1, 2)),
  orNull(fc.constantFrom('2026-01-01', '2026-01-02')),
  fc.constantFrom(0, 1.5),
  orNull(fc.constant('x')),
);
const window = { column: 'day', type: 'DATE', date: '2026-01-02' } as const;
const absent = fc.oneof(
  fc.constant<AbsentRows>('keep'),
  fc.record({ how: fc.constantFrom('soft', 'hard'), window: fc.constantFrom(undefined, window) }),
);
const key = fc.constantFrom<ModelRequest['key'][]>(undefined, ['id'], ['id', 'day'], [...COLUMNS]);

interface Step extends Pick<ModelRequest, 'key' | 'absent' | 'insertOnly' | 'slice'> {
  readonly rows: readonly Row[];
}

const step: fc.Arbitrary<Step> = fc.record({
  rows: fc.array(row, { maxLength: 6 }),
  absent,
  insertOnly: fc.boolean(),
  slice: fc.constantFrom('', '', 'a', 'b'),
  key,
});

/** Incoming rows as a commit gets them: each key once. */
function dedupe({ rows, key }: Step): readonly Row[] {
  if (key === undefined) return rows;
  const identify = (row: Row) => JSON.stringify(key.map((name) => row[COLUMNS.indexOf(name)]));
  return [...new Map(rows.map((row) => [identify(row), row])).values()];
}

const timeOf = (at: number) => new Date(Date.UTC(2026, 0, 1, at)).toISOString();

describe('any merges', () => {
  it('do what a model does row by row, versions included, and nothing when repeated', async () => {
    const { database } = await openTempDatabase();
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 5 }),
        fc.option(key, { nil: 'changing' as const, freq: 2 }),
        fc.boolean(),
        async (steps, onlyKey, history) => {
          for (const name of ['rows', 'rows_history'])
            await database.run(`DROP TABLE IF EXISTS main.${name}`);
          let model: Model = { table: [], history: [] };
          for (const [at, given] of steps.entries()) {
            const step = onlyKey === 'changing' ? given : { ...given, key: onlyKey };
            const rows = dedupe(step);
            const request = { ...step, run: `run-${at}`, at: timeOf(at) };
            const expected = mergeModel(model, rows, request);
            expect(await merge(database, rows, request, history)).toEqual(expected.counts);
            model = expected;
            expect(showRows(await readTable(database))).toEqual(showRows(model.table));
            const versions = await readHistory(database);
            expect(showVersions(versions)).toEqual(showVersions(history ? model.history : []));
            if (history) assertInStep(model.table, versions);

            const again = await merge(database, rows, { ...request, run: 'again' }, history);
            const { counts } = mergeModel(model, rows, { ...request, run: 'again' });
            expect(again).toEqual(counts);
            expect({ ...again, unchanged: 0 }).toEqual({
              inserted: 0,
              updated: 0,
              unchanged: 0,
              deleted: 0,
              markedGone: 0,
            });
            expect(showRows(await readTable(database))).toEqual(showRows(model.table));
            expect(showVersions(await readHistory(database))).toEqual(showVersions(versions));
          }
        },
      ),
      { numRuns: countRuns(20) },
    );
  });

  it('leave the open versions equal to the live rows, however often history was off in between', async () => {
    const { database } = await openTempDatabase();
    const switched = fc.record({ step, history: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(switched, { minLength: 2, maxLength: 6 }), async (steps) => {
        for (const name of ['rows', 'rows_history']) await database.run(`DROP TABLE IF EXISTS main.${name}`);
        for (const [at, { step, history }] of steps.entries()) {
          const before = await readHistory(database);
          await merge(database, dedupe(step), { ...step, run: `run-${at}`, at: timeOf(at) }, history);
          const versions = await readHistory(database);
          if (!history) {
            expect(showVersions(versions)).toEqual(showVersions(before));
            continue;
          }
          assertInStep(await readTable(database), versions);
          expect(versions.filter(({ from, to }) => to !== null && to < from)).toEqual([]);
          // What was once a version stays one: it may only be closed.
          const begun = (list: readonly ModelVersion[]) =>
            showVersions(list.map((one) => ({ ...one, to: null })));
          expect(begun(versions)).toEqual(expect.arrayContaining([...begun(before)]));
        }
      }),
      { numRuns: countRuns(15) },
    );
  });
});
