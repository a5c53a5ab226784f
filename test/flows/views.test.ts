import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { verifyState } from '../../src/commands/verify/verify.ts';
import { lookInto } from '../../src/warehouse/look-into.ts';
import { createRowsFlow, dateOf, type Row } from '../support/rows-api.ts';
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
});
