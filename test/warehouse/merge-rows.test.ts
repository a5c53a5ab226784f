import { describe, expect, it } from 'vitest';
import type { Database } from '../../src/warehouse/database.ts';
import { evolveTable } from '../../src/warehouse/evolve-table.ts';
import {
  type AbsentRows,
  applyMerge,
  keepAbsent,
  mergeRows,
  type MergeCounts,
  type MergeRequest,
  planMerge,
} from '../../src/warehouse/merge-rows.ts';
import { openTempDatabase } from '../support/temp-database.ts';
import { type LoadedTable, loadTexts } from './load-texts.ts';

/** A row of the tables below: id, day, v, t. */
type Row = readonly [id: number | null, day: string | null, v: number | null, t: string | null];
const COLUMNS = ['id', 'day', 'v', 't'] as const;
const TYPES = 'id BIGINT, day DATE, v DOUBLE, t VARCHAR';

const base: MergeRequest = {
  table: 'rows',
  columns: COLUMNS,
  key: ['id'],
  absent: 'keep',
  insertOnly: false,
  slice: '',
  history: false,
  runId: 'run-1',
  syncedAt: '2026-01-31T12:00:00.000Z',
};

/** Rows that did not come go, from all of the table or from a day on. */
const removed: AbsentRows = { how: 'hard', window: undefined };
const removedFrom = (date: string): AbsentRows => ({
  how: 'hard',
  window: { column: 'day', type: 'DATE', date },
});

function literal(value: string | number | null): string {
  return value === null ? 'NULL' : typeof value === 'number' ? String(value) : `'${value}'`;
}

async function createTable(database: Database): Promise<void> {
  await database.run(`CREATE OR REPLACE TABLE main.rows (${TYPES}, _run_id VARCHAR, _synced_at TIMESTAMPTZ)`);
}

async function fillIncoming(database: Database, rows: readonly Row[]): Promise<void> {
  await database.run(`CREATE OR REPLACE TEMP TABLE "~incoming" (_sluice_position BIGINT, ${TYPES})`);
  if (rows.length > 0) {
    const values = rows.map((row, at) => `(${[at, ...row.map(literal)].join(', ')})`);
    await database.run(`INSERT INTO temp."~incoming" VALUES ${values.join(', ')}`);
  }
}

async function merge(
  database: Database,
  rows: readonly Row[],
  request: Partial<MergeRequest> = {},
): Promise<MergeCounts> {
  await fillIncoming(database, rows);
  return database.transaction(() => mergeRows(database, { ...base, ...request }));
}

/** The table as texts: values, run and time of the last change. */
async function readTable(database: Database): Promise<readonly string[]> {
  const rows = await database.all(
    `SELECT [id::VARCHAR, day::VARCHAR, v::VARCHAR, t, _run_id, _synced_at::VARCHAR]::VARCHAR AS row FROM main.rows ORDER BY 1`,
  );
  return rows.map(({ row }) => String(row));
}

describe('a keyed merge', () => {
  it('counts and writes what is new and what changed, and leaves the rest alone', async () => {
    const { database } = await openTempDatabase();
    await createTable(database);
    expect(
      await merge(database, [
        [1, '2026-01-01', 1, 'a'],
        [2, '2026-01-01', null, null],
        [3, null, 3, 'c'],
      ]),
    ).toEqual({ inserted: 3, updated: 0, unchanged: 0, deleted: 0, markedGone: 0 });
    const counts = await merge(
      database,
      [
        [1, '2026-01-01', 1, 'a'],
        [2, '2026-01-01', null, 'b'],
        [4, '2026-01-02', null, null],
      ],
      { runId: 'run-2', syncedAt: '2026-02-01T12:00:00.000Z' },
    );
    expect(counts).toEqual({ inserted: 1, updated: 1, unchanged: 1, deleted: 0, markedGone: 0 });
    expect(await readTable(database)).toEqual([
      "[1, 2026-01-01, 1.0, a, run-1, '2026-01-31 12:00:00+00']",
      "[2, 2026-01-01, NULL, b, run-2, '2026-02-01 12:00:00+00']",
      "[3, NULL, 3.0, c, run-1, '2026-01-31 12:00:00+00']",
      "[4, 2026-01-02, NULL, NULL, run-2, '2026-02-01 12:00:00+00']",
    ]);
  });

  it('takes a value that became null, and a null that became a value, for a change', async () => {
    const { database } = await openTempDatabase();
    await createTable(database);
    await merge(database, [
      [1, null, 1, null],
      [2, null, null, 'x'],
    ]);
    const counts = await merge(database, [
      [1, null, null, null],
      [2, null, 0, 'x'],
    ]);
    expect(counts).toEqual({ inserted: 0, updated: 2, unchanged: 0, deleted: 0, markedGone: 0 });
  });

  it('matches keys of several columns, nulls among them', async () => {
    const { database } = await openTempDatabase();
    await createTable(database);
    const key = ['id', 'day'];
    await merge(
      database,
      [
        [1, null, 1, null],
        [1, '2026-01-01', 1, null],
      ],
      { key },
    );
    const counts = await merge(
      database,
      [
        [1, null, 2, null],
        [null, null, 1, null],
      ],
      { key },
    );
    expect(counts).toEqual({ inserted: 1, updated: 1, unchanged: 0, deleted: 0, markedGone: 0 });
  });

  it('never changes a row with insertOnly', async () => {
    const { database } = await openTempDatabase();
    await createTable(database);
    await merge(database, [[1, null, 1, 'old']]);
    const before = await readTable(database);
    const request = { insertOnly: true, runId: 'run-2' };
    expect(await merge(database, [[1, null, 2, 'new']], request)).toEqual({
      inserted: 0,
      updated: 0,
      unchanged: 1,
      deleted: 0,
      markedGone: 0,
    });
    expect(await readTable(database)).toEqual(before);
    expect(
      (
        await merge(
          database,
          [
            [1, null, 2, 'new'],
            [2, null, 2, 'new'],
          ],
          request,
        )
      ).inserted,
    ).toBe(1);
  });

  it('empties the columns of fields that vanished from the rows that came again', async () => {
    const opened = await openTempDatabase();
    const key = { key: ['id'] };
    const before = await loadTexts(['{"id":1,"v":1,"gone":"x"}', '{"id":2,"v":2,"gone":"y"}'], {
      ...opened,
      merge: key,
    });
    const { counts } = await loadTexts(['{"id":1,"v":1}'], { ...opened, before, merge: key });
    expect(counts).toEqual({ inserted: 0, updated: 1, unchanged: 0, deleted: 0, markedGone: 0 });
    expect(await opened.database.all('SELECT id, gone FROM main.rows ORDER BY id')).toEqual([
      { id: 1n, gone: null },
      { id: 2n, gone: 'y' },
    ]);
  });

  it('finds no change in a row whose members came in another order', async () => {
    const opened = await openTempDatabase();
    const key = { key: ['id'] };
    const before = await loadTexts(['{"id":1,"m":{"a":1,"b":2},"l":[1,2]}'], { ...opened, merge: key });
    const { counts } = await loadTexts(['{"l":[1,2],"m":{"b":2,"a":1},"id":1}'], {
      ...opened,
      before,
      merge: key,
    });
    expect(counts).toEqual({ inserted: 0, updated: 0, unchanged: 1, deleted: 0, markedGone: 0 });
  });
});

describe('fields named like what a merge works with', () => {
  it.each(['rowid', 'ROWID', '_run_id', '_sluice_row', '_sluice_position', 's', 't', 'change', 'delta'])(
    'do not lead it astray: %s',
    async (field) => {
      const opened = await openTempDatabase();
      const texts = (changed: number) =>
        [1, 2, 3].map((id) => `{"id":${id},"${field}":7,"v":${id === 1 ? changed : 0}}`);
      for (const key of [['id'], undefined]) {
        await opened.database.run('DROP TABLE IF EXISTS main.rows');
        const merge = { key, absent: removed };
        const before = await loadTexts(texts(0), { ...opened, merge });
        const { counts } = await loadTexts(texts(5), {
          ...opened,
          before,
          merge: { ...merge, runId: 'run-2' },
        });
        const changed = { inserted: 0, updated: 1, unchanged: 2, deleted: 0, markedGone: 0 };
        expect(counts).toEqual(
          key ? changed : { inserted: 1, updated: 0, unchanged: 2, deleted: 1, markedGone: 0 },
        );
        expect(await opened.database.all('SELECT id, v, "_run_id" FROM main.rows ORDER BY id')).toEqual([
          { id: 1n, v: 5n, _run_id: 'run-2' },
          { id: 2n, v: 0n, _run_id: 'run-1' },
          { id: 3n, v: 0n, _run_id: 'run-1' },
        ]);
      }
    },
  );
});

describe('rows that did not come', () => {
  const rows: readonly Row[] = [
    [1, '2026-01-01', 1, null],
    [2, '2026-01-02', 2, null],
    [3, '2026-01-03', 3, null],
    [4, null, 4, null],
  ];

  it.each([
    ['keep', [1, 2, 3, 4], 0],
    [removed, [3], 3],
    [removedFrom('2026-01-02'), [1, 3, 4], 1],
    [removedFrom('2026-01-03'), [1, 2, 3, 4], 0],
  ] as const)('stay or go as %j says', async (absent, left, deleted) => {
    const { database } = await openTempDatabase();
    for (const key of [['id'], undefined]) {
      await createTable(database);
      await merge(database, rows);
      const counts = await merge(database, [[3, '2026-01-03', 3, null]], { key, absent });
      expect(counts).toEqual({ inserted: 0, updated: 0, unchanged: 1, deleted, markedGone: 0 });
      const ids = await database.all('SELECT id FROM main.rows ORDER BY id');
      expect(ids.map(({ id }) => Number(id))).toEqual(left);
    }
  });

  it.each([
    ['timestamps', '"2026-01-02T00:30:00+01:00"', '"2026-01-02T00:00:00Z"', '"2026-01-02T23:00:00-01:00"'],
    ['text that mostly holds dates', '"2026-01-01"', '"2026-01-02 10:00 sharp"', '"2026-01-03 or so"'],
    ['text that holds none', '"soon"', '"2026-01-02!"', '"2026-02-31"'],
  ])('go from a window over %s', async (name, before, first, second) => {
    const opened = await openTempDatabase();
    const load = (values: readonly string[], before?: Awaited<ReturnType<typeof loadTexts>>) =>
      loadTexts(
        values.map((value) => `{"day":${value}}`),
        {
          ...opened,
          before,
          merge: before && {
            absent: { how: 'hard', window: { column: 'day', type: typeOf(before), date: '2026-01-02' } },
          },
        },
      );
    const typeOf = ({ columns }: LoadedTable) => columns[0]?.type ?? 'NULL';
    const table = await load([before, first, second]);
    const { counts } = await load([first], table);
    // Of the last case neither is a date, so neither is in any window.
    expect(counts.deleted).toBe(name === 'text that holds none' ? 0 : 1);
    expect(counts.unchanged).toBe(1);
  });
});

describe('a merge without a key', () => {
  it('keeps equal rows as often as they came', async () => {
    const { database } = await openTempDatabase();
    await createTable(database);
    const row: Row = [1, null, null, 'same'];
    const keyless = { key: undefined, absent: removed };
    expect(await merge(database, [row, row], keyless)).toMatchObject({ inserted: 2, deleted: 0 });
    expect(await merge(database, [row, row, row], keyless)).toMatchObject({ inserted: 1, unchanged: 2 });
    expect(await merge(database, [row], keyless)).toMatchObject({ unchanged: 1, deleted: 2 });
    expect(await readTable(database)).toHaveLength(1);
  });

  it('takes a changed row for one that left and one that came', async () => {
    const { database } = await openTempDatabase();
    await createTable(database);
    const keyless = { key: undefined, absent: removed };
    await merge(
      database,
      [
        [1, null, 1, null],
        [2, null, 2, null],
      ],
      keyless,
    );
    expect(
      await merge(
        database,
        [
          [1, null, 9, null],
          [2, null, 2, null],
        ],
        keyless,
      ),
    ).toEqual({
      inserted: 1,
      updated: 0,
      unchanged: 1,
      deleted: 1,
      markedGone: 0,
    });
  });

  it('works on rows without any column', async () => {
    const opened = await openTempDatabase();
    const before = await loadTexts(['{}', '{}'], opened);
    const { counts } = await loadTexts(['{}', '{}', '{}'], { ...opened, before });
    expect(counts).toEqual({ inserted: 1, updated: 0, unchanged: 2, deleted: 0, markedGone: 0 });
  });
});

describe('a table with slices and marked rows', () => {
  const plans = COLUMNS.map((name, at) => ({
    path: [name],
    name,
    type: (['BIGINT', 'DATE', 'DOUBLE', 'VARCHAR'] as const)[at] ?? 'VARCHAR',
    existingType: undefined,
    takes: 0,
    companion: false,
  }));
  const needs = { sliced: true, softDeletes: true, history: false };
  const marks = (database: Database) =>
    database
      .all(
        `SELECT id || ' ' || coalesce(_slice, 'none') || ' ' || t || CASE WHEN _deleted_at IS NULL THEN '' ELSE ' gone' END AS row FROM main.rows ORDER BY ALL`,
      )
      .then((rows) => rows.map(({ row }) => String(row)));

  async function openSliced(rows: readonly string[]): Promise<Database> {
    const { database } = await openTempDatabase();
    await evolveTable(database, { name: 'rows', exists: false }, plans, needs);
    const columns = 'id, day, v, t, _slice, _run_id, _synced_at, _deleted_at';
    for (const row of rows) {
      const [id, slice, t, gone] = row.split(' ');
      await database.run(
        `INSERT INTO main.rows (${columns}) VALUES ($1::BIGINT, NULL, 0, $2, nullif($3, 'none'), 'before', '2026-01-01', CASE WHEN $4 THEN TIMESTAMPTZ '2026-01-02' END)`,
        [id ?? '', t ?? '', slice ?? '', gone === 'gone'],
      );
    }
    return database;
  }

  it.each([
    ['a row to adopt before its own marked one', ['1 a x gone', '1 none x'], ['1 a new', '1 a x gone']],
    ['its own before one to adopt', ['1 a x', '1 none new'], ['1 a new', '1 none new']],
    ['its own equal row before one that differs', ['1 a new', '1 a x'], ['1 a new']],
    ['a marked row, if there is no other', ['1 a x gone'], ['1 a new']],
    ['no row of another slice', ['1 b x'], ['1 a new', '1 b x']],
  ])('matches %s', async (_, before, after) => {
    const database = await openSliced(before);
    await merge(database, [[1, null, 0, 'new']], { slice: 'a', adoptBy: [], runId: 'run-2' });
    expect(await marks(database)).toEqual(after);
  });

  it('adopts the row that agrees in what identified rows before', async () => {
    const before = ['1 none x', '1 none y', '2 none x'];
    const database = await openSliced(before);
    const incoming: readonly Row[] = [
      [1, null, 5, 'y'],
      [2, null, 5, 'z'],
    ];
    await merge(database, incoming, { slice: 'a', adoptBy: ['t'] });
    expect(await marks(database)).toEqual(['1 a y', '1 none x', '2 a z', '2 none x']);
    // Without that, only equal rows are adopted.
    await merge(database, [[2, null, 0, 'x']], { slice: 'b' });
    await merge(database, [[1, null, 0, 'w']], { slice: 'b' });
    expect(await marks(database)).toEqual(['1 a y', '1 b w', '1 none x', '2 a z', '2 b x']);
  });

  it('leaves no second row of a key, but with insertOnly', async () => {
    for (const insertOnly of [false, true]) {
      const database = await openSliced(['1 a x', '1 b y', '2 a x']);
      const request = { ...base, insertOnly };
      await fillIncoming(database, [[1, null, 0, 'new']]);
      const { plan, counts } = await database.transaction(async () => {
        const planned = await planMerge(database, request);
        return { plan: planned, counts: await applyMerge(database, planned) };
      });
      const expected = insertOnly
        ? { inserted: 0, updated: 1, unchanged: 0, deleted: 0, markedGone: 0 }
        : { inserted: 0, updated: 1, unchanged: 0, deleted: 1, markedGone: 0 };
      expect(counts).toEqual(expected);
      expect(plan.change).toEqual({ ...expected, held: 3, returned: 0, superseded: expected.deleted });
      expect(await marks(database)).toEqual(
        insertOnly ? ['1 a x', '1 none y', '2 a x'] : ['1 none new', '2 a x'],
      );
    }
  });

  it('changes nothing before a plan is applied', async () => {
    const database = await openSliced(['1 a x', '2 a x']);
    await fillIncoming(database, [[1, null, 0, 'new']]);
    const { change } = await planMerge(database, { ...base, absent: removed });
    expect(change).toMatchObject({ held: 2, inserted: 0, updated: 1, deleted: 1 });
    expect(await marks(database)).toEqual(['1 a x', '2 a x']);
  });

  it('leaves rows in the table that a plan keeps', async () => {
    const database = await openSliced(['1 a x', '2 a x']);
    await fillIncoming(database, [[1, null, 0, 'new']]);
    const plan = await keepAbsent(database, await planMerge(database, { ...base, absent: removed }));
    expect(plan.change).toMatchObject({ held: 2, updated: 1, deleted: 0 });
    expect(await applyMerge(database, plan)).toMatchObject({ updated: 1, deleted: 0 });
    expect(await marks(database)).toEqual(['1 none new', '2 a x']);
  });
});
