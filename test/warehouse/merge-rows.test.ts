import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Database } from '../../src/warehouse/database.ts';
import { mergeRows, type MergeCounts, type MergeRequest } from '../../src/warehouse/merge-rows.ts';
import { openTempDatabase } from '../support/temp-database.ts';
import { loadTexts } from './load-texts.ts';

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
  runId: 'run-1',
  syncedAt: '2026-01-31T12:00:00.000Z',
};

function literal(value: string | number | null): string {
  return value === null ? 'NULL' : typeof value === 'number' ? String(value) : `'${value}'`;
}

async function createTable(database: Database): Promise<void> {
  await database.run(`CREATE OR REPLACE TABLE main.rows (${TYPES}, _run_id VARCHAR, _synced_at TIMESTAMPTZ)`);
}

async function merge(
  database: Database,
  rows: readonly Row[],
  request: Partial<MergeRequest> = {},
): Promise<MergeCounts> {
  await database.run(`CREATE OR REPLACE TEMP TABLE incoming (_sluice_position BIGINT, ${TYPES})`);
  if (rows.length > 0) {
    const values = rows.map((row, at) => `(${[at, ...row.map(literal)].join(', ')})`);
    await database.run(`INSERT INTO temp.incoming VALUES ${values.join(', ')}`);
  }
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
    ).toEqual({ inserted: 3, updated: 0, unchanged: 0, deleted: 0 });
    const counts = await merge(
      database,
      [
        [1, '2026-01-01', 1, 'a'],
        [2, '2026-01-01', null, 'b'],
        [4, '2026-01-02', null, null],
      ],
      { runId: 'run-2', syncedAt: '2026-02-01T12:00:00.000Z' },
    );
    expect(counts).toEqual({ inserted: 1, updated: 1, unchanged: 1, deleted: 0 });
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
    expect(counts).toEqual({ inserted: 0, updated: 2, unchanged: 0, deleted: 0 });
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
    expect(counts).toEqual({ inserted: 1, updated: 1, unchanged: 0, deleted: 0 });
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
    expect(counts).toEqual({ inserted: 0, updated: 1, unchanged: 0, deleted: 0 });
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
    expect(counts).toEqual({ inserted: 0, updated: 0, unchanged: 1, deleted: 0 });
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
        const merge = { key, absent: 'remove-all' as const };
        const before = await loadTexts(texts(0), { ...opened, merge });
        const { counts } = await loadTexts(texts(5), {
          ...opened,
          before,
          merge: { ...merge, runId: 'run-2' },
        });
        const changed = { inserted: 0, updated: 1, unchanged: 2, deleted: 0 };
        expect(counts).toEqual(key ? changed : { inserted: 1, updated: 0, unchanged: 2, deleted: 1 });
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
    ['remove-all', [3], 3],
    [{ removeFrom: { column: 'day', date: '2026-01-02' } }, [1, 3, 4], 1],
    [{ removeFrom: { column: 'day', date: '2026-01-03' } }, [1, 2, 3, 4], 0],
  ] as const)('stay or go as %j says', async (absent, left, deleted) => {
    const { database } = await openTempDatabase();
    for (const key of [['id'], undefined]) {
      await createTable(database);
      await merge(database, rows);
      const counts = await merge(database, [[3, '2026-01-03', 3, null]], { key, absent });
      expect(counts).toEqual({ inserted: 0, updated: 0, unchanged: 1, deleted });
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
          merge: before && { absent: { removeFrom: { column: 'day', date: '2026-01-02' } } },
        },
      );
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
    const keyless = { key: undefined, absent: 'remove-all' as const };
    expect(await merge(database, [row, row], keyless)).toMatchObject({ inserted: 2, deleted: 0 });
    expect(await merge(database, [row, row, row], keyless)).toMatchObject({ inserted: 1, unchanged: 2 });
    expect(await merge(database, [row], keyless)).toMatchObject({ unchanged: 1, deleted: 2 });
    expect(await readTable(database)).toHaveLength(1);
  });

  it('takes a changed row for one that left and one that came', async () => {
    const { database } = await openTempDatabase();
    await createTable(database);
    const keyless = { key: undefined, absent: 'remove-all' as const };
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
    });
  });

  it('works on rows without any column', async () => {
    const opened = await openTempDatabase();
    const before = await loadTexts(['{}', '{}'], opened);
    const { counts } = await loadTexts(['{}', '{}', '{}'], { ...opened, before });
    expect(counts).toEqual({ inserted: 1, updated: 0, unchanged: 2, deleted: 0 });
  });
});

interface ModelRow {
  readonly row: Row;
  readonly runId: string;
}

/** What a merge has to do, spelt out row by row. */
function mergeModel(
  table: readonly ModelRow[],
  incoming: readonly Row[],
  { key, absent, insertOnly, runId }: MergeRequest,
): { readonly table: readonly ModelRow[]; readonly counts: MergeCounts } {
  const identify = (row: Row) =>
    JSON.stringify(key === undefined ? row : key.map((name) => row[COLUMNS.indexOf(name as 'id')]));
  const left = [...table];
  const kept: ModelRow[] = [];
  const counts = { inserted: 0, updated: 0, unchanged: 0, deleted: 0 };
  for (const row of incoming) {
    const at = left.findIndex((held) => identify(held.row) === identify(row));
    const [held] = at === -1 ? [] : left.splice(at, 1);
    if (held === undefined) counts.inserted += 1;
    else if (insertOnly || JSON.stringify(held.row) === JSON.stringify(row)) counts.unchanged += 1;
    else counts.updated += 1;
    const isKept = held !== undefined && (insertOnly || JSON.stringify(held.row) === JSON.stringify(row));
    kept.push(isKept ? held : { row, runId });
  }
  for (const held of left) {
    const [, day] = held.row;
    const goes =
      absent === 'remove-all' || (absent !== 'keep' && day !== null && day >= absent.removeFrom.date);
    if (goes) counts.deleted += 1;
    else kept.push(held);
  }
  return { table: kept, counts };
}

function showModel(table: readonly ModelRow[]): readonly string[] {
  return table.map(({ row: [id, day, v, t], runId }) => JSON.stringify([id, day, v, t, runId])).toSorted();
}

async function showTable(database: Database): Promise<readonly string[]> {
  const rows = await database.all('SELECT id, day::VARCHAR AS day, v, t, _run_id AS run FROM main.rows');
  return rows
    .map(({ id, day, v, t, run }) => JSON.stringify([id === null ? null : Number(id), day, v, t, run]))
    .toSorted();
}

describe('any merges', () => {
  const orNull = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null, freq: 4 });
  const row: fc.Arbitrary<Row> = fc.tuple(
    orNull(fc.integer({ min: 1, max: 4 })),
    orNull(fc.constantFrom('2026-01-01', '2026-01-02', '2026-01-03')),
    orNull(fc.constantFrom(0, 1.5)),
    orNull(fc.constantFrom('x', '')),
  );
  const absent = fc.constantFrom<MergeRequest['absent']>('keep', 'remove-all', {
    removeFrom: { column: 'day', date: '2026-01-02' },
  });
  const step = fc.record({ rows: fc.array(row, { maxLength: 6 }), absent, insertOnly: fc.boolean() });
  const steps = fc.array(step, { minLength: 1, maxLength: 4 });
  const key = fc.constantFrom(undefined, ['id'], ['id', 'day'], [...COLUMNS]);

  it('do what a model does row by row, and nothing when repeated', async () => {
    const { database } = await openTempDatabase();
    await fc.assert(
      fc.asyncProperty(key, steps, async (key, steps) => {
        await createTable(database);
        let model: readonly ModelRow[] = [];
        for (const [at, { rows, ...how }] of steps.entries()) {
          const request: MergeRequest = { ...base, ...how, key, runId: `run-${at}` };
          // The caller sees to it that each key comes once.
          const identify = (row: Row) => JSON.stringify(key?.map((name) => row[COLUMNS.indexOf(name)]));
          const incoming =
            key === undefined ? rows : [...new Map(rows.map((row) => [identify(row), row])).values()];
          const expected = mergeModel(model, incoming, request);
          expect(await merge(database, incoming, request)).toEqual(expected.counts);
          model = expected.table;
          expect(await showTable(database)).toEqual(showModel(model));

          const again = await merge(database, incoming, { ...request, runId: 'again' });
          expect(again).toEqual({ inserted: 0, updated: 0, unchanged: incoming.length, deleted: 0 });
          expect(await showTable(database)).toEqual(showModel(model));
        }
      }),
      { numRuns: 60 },
    );
  });
});
