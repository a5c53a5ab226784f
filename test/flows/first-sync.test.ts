import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunReport, sync } from '../../src/index.ts';
import { type SimulatorServer, startSimulatorServer } from '../../src/simulator/server.ts';
import { DEMO_KEY } from '../../src/simulator/simulator-options.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { expectRows, queryCopy, sortRows } from '../support/published.ts';
import { buildConfig, countScanRequests, makeFolder, streamOf, unlimited } from '../support/sync-harness.ts';

const endpoints = {
  visibility_mentions: 'visibility/mentions',
  prompts_analytics: 'prompts/analytics',
  commerce_category_products: 'commerce/category-products',
  commerce_top_products: 'commerce/top-products',
} as const;

/** The oracle: everything an endpoint holds, read with plain fetch and nothing of ours. */
async function fetchAll(baseUrl: string, path: string): Promise<readonly unknown[]> {
  const records: unknown[] = [];
  for (;;) {
    const url = `${baseUrl}/${path}?limit=100&offset=${records.length}`;
    const response = await fetch(url, { headers: { 'x-api-key': DEMO_KEY } });
    const body = (await response.json()) as { data: unknown[]; pagination?: { hasMore: boolean } };
    records.push(...body.data);
    if (body.pagination?.hasMore !== true) return records;
  }
}

describe('the first sync of the built-in streams, over real sockets', () => {
  const folder = makeFolder();
  const duckdb = `${folder}/warehouse.duckdb`;
  const simulator = createSimulator({ rateLimit: unlimited });
  let server: SimulatorServer;
  let report: RunReport;
  let queries: readonly { readonly path: string; readonly query: URLSearchParams }[];

  beforeAll(async () => {
    server = await startSimulatorServer(simulator);
    report = await sync(
      buildConfig(
        { duckdbPath: duckdb, stateDir: `${folder}/state`, ledgerDir: `${folder}/quota` },
        { source: { baseUrl: server.baseUrl } },
      ),
    );
    queries = simulator.log.map(({ path, query }) => ({
      path: path.replace('/api/v1/', ''),
      query: new URLSearchParams(query),
    }));
  });
  afterAll(() => server.close());

  it('completes with every stream verified', () => {
    expect(report).toMatchObject({
      exitCode: 0,
      status: 'complete',
      warnings: [],
      rateLimited: 0,
      retries: 0,
    });
    expect(
      report.streams.map(({ status, mode, verdict, rescans }) => [status, mode, verdict, rescans]),
    ).toEqual(Object.keys(endpoints).map(() => ['complete', 'full', 'verified', 0]));
    expect(report.rows).toEqual({
      read: 3720,
      inserted: 3720,
      updated: 0,
      unchanged: 0,
      deleted: 0,
      quarantined: 0,
    });
  });

  it.each(Object.entries(endpoints))('publishes %s value for value', async (table, path) => {
    const oracle = await fetchAll(server.baseUrl, path);
    const published = await queryCopy(duckdb, `SELECT * FROM main.${table}`);
    expect(sortRows(published.rows)).toEqual(expectRows(oracle));
    expect(published.rows.length).toBeGreaterThan(400);
  });

  it('gives columns the types the values have', async () => {
    const { columns } = await queryCopy(duckdb, 'SELECT * FROM main.prompts_analytics LIMIT 1');
    expect(columns).toEqual({
      prompt_id: 'VARCHAR',
      date: 'DATE',
      prompt: 'VARCHAR',
      topic_id: 'VARCHAR',
      topic_name: 'VARCHAR',
      provider: 'VARCHAR',
      region: 'VARCHAR',
      visibility_score: 'DOUBLE',
      mentions: 'BIGINT',
      rank: 'BIGINT',
      meta__model: 'VARCHAR',
      meta__tokens: 'BIGINT',
      meta__tags: 'JSON',
      _run_id: 'VARCHAR',
      _synced_at: 'TIMESTAMP WITH TIME ZONE',
    });
  });

  it('learns the keys that identify the rows', () => {
    const keys = report.streams.map(({ stream, key }) => [stream, key?.origin, key?.columns]);
    expect(keys).toEqual([
      ['visibility_mentions', 'learned', ['mention_id']],
      ['prompts_analytics', 'learned', ['date', 'prompt_id']],
      ['commerce_category_products', 'learned', ['category_id', 'product_id']],
      ['commerce_top_products', 'learned', ['date', 'region', 'rank']],
    ]);
  });

  it('sets the watermark to the newest date, where rows are dated', () => {
    expect(report.streams.map(({ watermark }) => watermark)).toEqual([
      '2026-01-31',
      '2026-01-31',
      undefined,
      '2026-01-31',
    ]);
  });

  it('asks for 100 records a page, always', () => {
    const paged = queries.filter(({ path }) => path !== endpoints.visibility_mentions);
    expect(paged.length).toBeGreaterThan(0);
    expect(paged.map(({ query }) => query.get('limit'))).toEqual(paged.map(() => '100'));
  });

  it('asks nothing of an endpoint that answers all at once but the answer', () => {
    const asked = queries.filter(({ path }) => path === endpoints.visibility_mentions);
    expect(asked.map(({ query }) => String(query))).toEqual(['']);
  });

  it('spends the least requests there can be, a row of overlap at each joint, and one more look at the head', () => {
    const expected = {
      visibility_mentions: 1,
      prompts_analytics: countScanRequests(1800),
      commerce_category_products: countScanRequests(420),
      commerce_top_products: countScanRequests(600),
    };
    expect(Object.fromEntries(report.streams.map(({ stream, requests }) => [stream, requests]))).toEqual(
      expected,
    );
    expect(report.requests).toBe(Object.values(expected).reduce((sum, requests) => sum + requests));
    expect(report.requests).toBe(queries.length);
  });

  it('overlaps the pages by one row and ends with the head', () => {
    const offsets = queries
      .filter(({ path }) => path === endpoints.commerce_category_products)
      .map(({ query }) => Number(query.get('offset')));
    expect(offsets.toSorted((a, b) => a - b)).toEqual([0, 0, 99, 198, 297, 396]);
    expect(offsets.at(-1)).toBe(0);
  });

  it('publishes its own record of the run next to the data', async () => {
    const runs = await queryCopy(duckdb, 'SELECT * FROM _sluice.runs');
    // A whole second has no fraction there.
    const startedAt = new Date(String(runs.rows[0]?.['started_at'])).toISOString();
    expect(runs.rows.map((row) => ({ ...row, started_at: startedAt }))).toEqual([
      {
        run_id: report.runId,
        started_at: report.startedAt,
        finished_at: expect.any(String) as string,
        status: 'complete',
        exit_code: 0,
        requests: report.requests,
        retries: 0,
        waited_ms: 0,
        rows_read: 3720,
        rows_inserted: 3720,
        rows_updated: 0,
        rows_unchanged: 0,
        rows_deleted: 0,
        rows_quarantined: 0,
        version: report.version,
      },
    ]);
    const { pages, requests } = streamOf(report, 'prompts_analytics');
    const streamRuns = await queryCopy(duckdb, 'SELECT * FROM _sluice.stream_runs ORDER BY stream');
    expect(streamRuns.rows).toHaveLength(4);
    expect(streamRuns.rows[2]).toMatchObject({
      run_id: report.runId,
      stream: 'prompts_analytics',
      slice: '',
      status: 'complete',
      verdict: 'verified',
      rows_declared: 1800,
      rows_read: 1800,
      pages,
      requests,
      rescans: 0,
    });
  });

  it('publishes checkpoints, contracts and the columns it added', async () => {
    const checkpoints = await queryCopy(
      duckdb,
      'SELECT stream, watermark, key_fields, key_origin, cursor_field, last_verdict, run_id FROM _sluice.checkpoints ORDER BY stream',
    );
    expect(checkpoints.rows).toContainEqual({
      stream: 'prompts_analytics',
      watermark: '2026-01-31',
      key_fields: ['date', 'prompt_id'],
      key_origin: 'learned',
      cursor_field: 'date',
      last_verdict: 'verified',
      run_id: report.runId,
    });
    const contracts = await queryCopy(
      duckdb,
      `SELECT path, column_name, type FROM _sluice.contracts WHERE stream = 'visibility_mentions' ORDER BY ordinal`,
    );
    expect(contracts.rows).toContainEqual({
      path: ['source', 'url'],
      column_name: 'source__url',
      type: 'VARCHAR',
    });
    const changes = await queryCopy(duckdb, 'SELECT DISTINCT change FROM _sluice.schema_changes');
    expect(changes.rows).toEqual([{ change: 'added' }]);
  });

  it('names the run and its time on every row', async () => {
    const marks = await queryCopy(
      duckdb,
      'SELECT DISTINCT _run_id FROM main.visibility_mentions WHERE _synced_at IS NOT NULL',
    );
    expect(marks.rows).toEqual([{ _run_id: report.runId }]);
  });
});
