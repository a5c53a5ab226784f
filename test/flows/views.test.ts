import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { forgetElements, readElements } from '../../state/elements.ts';
import { verifyState } from '../../src/commands/verify/verify.ts';
import { learnElements } from '../../src/load/learn-elements.ts';
import { Database } from '../../src/warehouse/database.ts';
import { packElementFields, unpackElementFields } from '../../src/schema/element-fields.ts';
import { lookInto } from '../../src/warehouse/look-into.ts';
import { createRowsFlow, dateOf, type Row } from '../support/rows-api.ts';
import { countRuns } from '../support/seeds.ts';
import { noBuiltIns } from '../support/sync-harness.ts';

/** Rows of items per day; each has sources, of which later days bring more fields. */
function listRows(day: number): readonly Row[] {
  return Array.from({ length: (day + 1) * 4 }, (_, at) => ({
    date: dateOf(Math.floor(at / 4)),
    id: at % 4,
    sources: [
      { url: `https://a.example/${at}`, rank: at % 3, id: `s${at}` },
      ...(at >= 4
        ? [{ url: `https://b.example/${at}`, score: 0.12345678901234567, meta: { lang: 'en' } }, null, 'odd']
        : []),
    ],
    labels: ['x', 'y'],
    order: at % 2 === 0 ? [] : [{ select: true }],
  }));
}

/** What is known of elements in the state, and what all rows of its table show. */
async function readAndLearn(stateDir: string) {
  const copy = join(stateDir, 'copy.duckdb');
  copyFileSync(join(stateDir, 'work.duckdb'), copy);
  const database = await Database.open({ file: copy, folders: [] });
  try {
    const known = await readElements(database, 'items');
    await database.transaction(async () => {
      await forgetElements(database, 'items');
      await learnElements({ database, runId: 'again' }, { name: 'items', table: 'items' }, 'all');
    });
    return { known, learned: await readElements(database, 'items') };
  } finally {
    await database.release();
    rmSync(copy);
  }
}

const stream = { history: true, key: ['date', 'id'], deletes: 'soft' } as const;

describe('the views of a synced table', () => {
  it('are in the DuckDB file and in the lake, and follow the data in the same publish', async () => {
    const rowsFlow = createRowsFlow({ rows: listRows }, stream);
    const { flow } = rowsFlow;
    const destination = { duckdb: flow.duckdbPath, parquet: join(flow.folder, 'lake') };
    expect(await rowsFlow.syncAfter(0, { config: { destination } })).toMatchObject({ exitCode: 0 });
    expect(await flow.query('SELECT * FROM items__sources ORDER BY id LIMIT 1')).toEqual([
      { date: '2026-01-31', id: 0, _index: 0, url: 'https://a.example/0', rank: 0, sources__id: 's0' },
    ]);
    expect(await flow.query('SELECT count(*) AS n FROM items__labels').catch(() => 'none')).toBe('none');
    expect(await rowsFlow.syncAfter(1, { config: { destination } })).toMatchObject({ exitCode: 0 });
    const sql =
      "SELECT _index, url, score, meta__lang, _value FROM items__sources WHERE date = DATE '2026-02-01' AND id = 0 ORDER BY _index";
    const expected = [
      { _index: 0, url: 'https://a.example/4' },
      { _index: 1, url: 'https://b.example/4', score: 0.12345678901234567, meta__lang: 'en' },
      { _index: 2 },
      { _index: 3, _value: 'odd' },
    ];
    expect(await flow.query(sql)).toEqual(expected);
    expect(await flow.query('SELECT date, id FROM items_latest ORDER BY id')).toEqual(
      [0, 1, 2, 3].map((id) => ({ date: '2026-02-01', id })),
    );
    expect(await flow.query('SELECT "select" FROM items__order')).toHaveLength(4);
    const health = await flow.query(
      'SELECT stream, verdict, rows_in_api, rows_in_table, rows_in_quarantine, unproved_since, last_exit_code FROM _sluice.health',
    );
    expect(health).toEqual([
      {
        stream: 'items',
        verdict: 'verified',
        rows_in_api: 8,
        rows_in_table: 8,
        rows_in_quarantine: 0,
        last_exit_code: 0,
      },
    ]);
    const comments = await flow.query(
      "SELECT view_name AS name, comment FROM duckdb_views() WHERE view_name IN ('items_latest', 'items__sources', 'health') ORDER BY ALL",
    );
    expect(comments).toEqual([
      {
        name: 'health',
        comment:
          'One row per stream, or per slice of one: verdict, last verified scan, rows in the API and in the table, and since when the oldest row waits for a scan that verifies it. [sluice]',
      },
      {
        name: 'items__sources',
        comment:
          'One row per element of the array sources of items, with the key of its row. _index is the place in the array, from 0. [sluice]',
      },
      {
        name: 'items_latest',
        comment: 'The newest row of items by date for each id, without deleted ones. [sluice]',
      },
    ]);
    const inLake = await lookInto(join(destination.parquet, 'lake.duckdb'), (database) =>
      database.all(`SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY ALL`),
    );
    expect(inLake?.map(({ view_name: name }) => name)).toEqual([
      'health',
      'items',
      'items__order',
      'items__sources',
      'items_history',
      'items_latest',
    ]);
    const checked = await verifyState(flow.settings({ destination }), { clock: flow.clock });
    expect(checked.items.filter(({ status }) => status !== 'ok')).toEqual([]);
    for (const lost of ['both', 'duckdb']) {
      rmSync(join(flow.stateDir, 'work.duckdb'));
      if (lost === 'duckdb') rmSync(flow.duckdbPath);
      expect(await rowsFlow.syncAfter(1, { config: { destination } })).toMatchObject({ exitCode: 0 });
      expect(await flow.query(sql)).toEqual(expected);
      const views = await lookInto(join(flow.stateDir, 'work.duckdb'), (database) =>
        database.all('SELECT view_name FROM duckdb_views() WHERE NOT internal'),
      );
      expect(views).toEqual([]);
    }
    expect(
      (await verifyState(flow.settings({ destination }), { clock: flow.clock })).items.filter(
        ({ status }) => status !== 'ok',
      ),
    ).toEqual([]);
  });

  it('leave a name to a stream that has it', async () => {
    const rowsFlow = createRowsFlow({ rows: listRows }, stream);
    const { flow } = rowsFlow;
    const streams = {
      ...noBuiltIns,
      items: { path: 'items', paginated: true, ...stream },
      items__sources: { path: 'items', paginated: true },
    };
    expect((await rowsFlow.syncAfter(0)).exitCode).toBe(0);
    expect((await rowsFlow.syncAfter(1, { config: { streams } })).exitCode).toBe(0);
    expect(await flow.query('SELECT count(*) AS n FROM items__sources')).toEqual([{ n: 8 }]);
    expect(await flow.query('SELECT count(*) AS n FROM items__sources_view')).toEqual([{ n: 20 }]);
    expect(flow.events.filter(({ type }) => type === 'warning')).toMatchObject([
      {
        message:
          'items__sources is taken, so the view of the elements of items.sources is called items__sources_view',
      },
    ]);
  });

  it('are unchanged where nothing changed, and whole after a rebuild', async () => {
    const rowsFlow = createRowsFlow({ rows: listRows }, stream);
    const { flow } = rowsFlow;
    await rowsFlow.syncAfter(1);
    const before = await flow.query('SELECT * FROM items__sources ORDER BY ALL');
    expect(await rowsFlow.syncAfter(0)).toMatchObject({ exitCode: 0, published: undefined });
    await flow.rebuild();
    expect(await flow.query('SELECT * FROM items__sources ORDER BY ALL')).toEqual(before);
  });

  it('know of random records what the rows of the table show, also where only some rows change', async () => {
    const text = fc.oneof(
      fc.string({ maxLength: 4 }),
      fc.constantFrom('2026-11-20', '{', '1234567890.123456'),
    );
    const inArray = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.oneof(text, fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constant(null)),
        fc.dictionary(fc.constantFrom('a', 'b', 'meta'), tie('value')),
        fc.array(tie('value'), { maxLength: 3 }),
      ),
    })).value;
    const lists = fc.array(fc.array(inArray, { maxLength: 3 }), { minLength: 8, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(lists, lists, fc.boolean(), async (before, after, isAll) => {
        const rows = (day: number) =>
          before.map((list, id) => {
            const sources = day > 0 && (isAll || id % 2 === 0) ? after[id] : list;
            return { date: dateOf(0), id, version: isAll ? day : 0, meta: { sources }, sources };
          });
        const rowsFlow = createRowsFlow({ rows }, { key: ['id'] });
        const { stateDir } = rowsFlow.flow;
        expect((await rowsFlow.syncAfter(0)).exitCode).toBe(0);
        const first = await readAndLearn(stateDir);
        expect(first.known).toEqual(first.learned);
        expect((await rowsFlow.syncAfter(1, { fullRefresh: true })).exitCode).toBe(0);
        const second = await readAndLearn(stateDir);
        // Rows that were not written are as they were.
        const expected = [...second.learned].map(([column, fields]) => {
          const texts = [fields, ...(first.known.has(column) ? [first.known.get(column) ?? ''] : [])];
          return [column, packElementFields(unpackElementFields(texts))] as const;
        });
        expect(second.known).toEqual(new Map(expected));
      }),
      { numRuns: countRuns(8), endOnFailure: true },
    );
  });
});

describe('the health of slices', () => {
  it('says nothing more of one that left the config with its rows', async () => {
    const rowsFlow = createRowsFlow({
      rows: (day) =>
        Array.from({ length: (day + 1) * 4 }, (_, at) => ({
          id: at,
          date: dateOf(Math.floor(at / 4)),
          entity: at % 2 === 0 ? 'a' : 'b',
        })),
      matches: ({ entity }, params) => params.get('entity') === entity || !params.has('entity'),
      forbids: (_, day) => day === 2,
    });
    const sync = (entity: readonly string[]) => {
      const items = { path: 'items', paginated: true, key: ['id'], deletes: 'hard' } as const;
      const params = { entity: [...entity] };
      const sliced = { ...items, params, sliceBy: ['entity'], maxDeleteRatio: 1 };
      return rowsFlow.syncAfter(1, {
        config: { streams: { ...noBuiltIns, items: sliced } },
        fullRefresh: true,
      });
    };
    const health = () =>
      rowsFlow.flow.query('SELECT slice, verdict, rows_in_table AS n FROM _sluice.health ORDER BY slice');
    expect(await sync(['a', 'b'])).toMatchObject({ exitCode: 0 });
    expect((await health()).map(({ slice }) => slice)).toEqual(['entity=a', 'entity=b']);
    expect(await sync(['a', 'c'])).toMatchObject({ exitCode: 3 });
    expect(await sync(['a'])).toMatchObject({ exitCode: 0 });
    expect(await health()).toEqual([{ slice: 'entity=a', verdict: 'verified', n: 8 }]);
  });

  it('says nothing of what the API has for rows from before the stream was cut into slices', async () => {
    const rowsFlow = createRowsFlow({
      rows: () => Array.from({ length: 8 }, (_, id) => ({ id, date: dateOf(0), entity: id < 5 ? 'a' : 'b' })),
      matches: ({ entity }, params) => params.get('entity') === entity || !params.has('entity'),
    });
    const items = { path: 'items', paginated: true, key: ['id'], deletes: 'keep' } as const;
    const sync = (stream: object) =>
      rowsFlow.syncAfter(1, {
        config: { streams: { ...noBuiltIns, items: { ...items, ...stream } } },
        fullRefresh: true,
      });
    const health = () =>
      rowsFlow.flow.query(
        `SELECT slice, rows_in_table AS n, coalesce(rows_in_api, -1)::INTEGER AS api, counted_at IS NULL AS uncounted FROM _sluice.health ORDER BY slice`,
      );
    const whole = { slice: '', n: 8, api: 8, uncounted: false };
    expect(await sync({})).toMatchObject({ exitCode: 0 });
    expect(await health()).toEqual([whole]);
    expect(await sync({ params: { entity: ['a'] }, sliceBy: ['entity'] })).toMatchObject({ exitCode: 0 });
    expect(await health()).toEqual([
      { slice: '', n: 3, api: -1, uncounted: true },
      { slice: 'entity=a', n: 5, api: 5, uncounted: false },
    ]);
    expect(await sync({})).toMatchObject({ exitCode: 0 });
    expect(await health()).toEqual([whole]);
  });
});
