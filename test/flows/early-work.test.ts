import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { AbortedError } from '../../src/model/errors.ts';
import { insertRows } from '../../src/simulator/fault-effects.ts';
import { beforeRequest } from '../../src/simulator/faults.ts';
import { EarlyIncoming } from '../../src/warehouse/early-incoming.ts';
import { queryWorkFile } from '../crash/read-outcome.ts';
import {
  createItemsFlow,
  DAY_MS,
  eventsOf,
  type Flow,
  makeFolder,
  streamOf,
} from '../support/sync-harness.ts';

// So large that the scan is worth reading before it has ended: 20 MB, of which each page has half a one. With a history,
// early rows are temporary; without one, records so long are all read at the end.
const RECORDS = 400;
const PAGE = 10;
/** Rows that the engine writes together. */
const GROUP_ROWS = 122_880;
const filler = 'x'.repeat(50_000);

interface Large {
  readonly id: number;
  readonly amount: number | string;
  readonly text: string;
}

function makeLarge(id: number, amount: number | string = id * 2): Large {
  return { id, amount, text: `${id} ${filler}` };
}

function createLargeFlow(records: readonly Large[], history: boolean): Flow {
  return createItemsFlow(records, { stream: { pageSize: PAGE, key: ['id'], history } });
}

function makeRecords(): readonly Large[] {
  return Array.from({ length: RECORDS }, (_, id) => makeLarge(id));
}

function listFiles({ stateDir }: Flow, pattern: RegExp): readonly string[] {
  return readdirSync(stateDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && pattern.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
}

function summarize(flow: Flow) {
  return flow.query(
    'SELECT count(*)::INT AS rows, count(DISTINCT id)::INT AS ids, sum(length(text))::BIGINT::VARCHAR AS chars, min(amount)::VARCHAR AS least, typeof(any_value(amount)) AS type FROM items',
  );
}

async function listTables(flow: Flow): Promise<readonly unknown[]> {
  const rows = await flow.query("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main'");
  return rows.map(({ table_name: name }) => name);
}

const clean = {
  rows: RECORDS,
  ids: RECORDS,
  chars: String(makeRecords().reduce((sum, { text }) => sum + text.length, 0)),
  least: '0',
  type: 'BIGINT',
};

describe.each([
  ['with a history', true],
  ['without one', false],
])('a scan so long that its pages are worked on before it has ended, %s', (_, history) => {
  it('gives the rows and the archive of any other scan', async () => {
    const early = vi.spyOn(EarlyIncoming.prototype, 'readTo');
    onTestFinished(() => early.mockRestore());
    const flow = createLargeFlow(makeRecords(), history);
    const sizes: number[] = [];
    const report = await flow.sync({
      onProgress: ({ type }) => {
        // What is being packed at the moment when the last page has come.
        if (type === 'stream-loading')
          sizes.push(...listFiles(flow, /^records\.part$/).map((path) => statSync(path).size));
      },
    });
    expect(streamOf(report)).toMatchObject({ status: 'complete', verdict: 'verified', rescans: 0 });
    expect(report.warnings).toEqual([]);
    expect(early.mock.calls.length > 0).toBe(history);
    // The archive was under way by then: the early work is what was tried here.
    expect(sizes).toHaveLength(1);
    expect(await summarize(flow)).toEqual([clean]);
    const rebuilt = await flow.rebuild();
    expect(rebuilt.streams[0]).toMatchObject({ status: 'rebuilt' });
    expect(await summarize(flow)).toEqual([clean]);
    expect(await listTables(flow)).toEqual(history ? ['items', 'items_history'] : ['items']);
    expect(listFiles(flow, /\.part$|records\.ndjson/)).toEqual([]);
  });

  it('takes the types of the whole scan, whatever its first part looked like', async () => {
    const flow = createLargeFlow(makeRecords().with(RECORDS - 5, makeLarge(RECORDS - 5, 'n/a')), history);
    expect(streamOf(await flow.sync())).toMatchObject({ verdict: 'verified' });
    expect(await summarize(flow)).toEqual([{ ...clean, type: 'VARCHAR' }]);
  });

  it('forgets what was read when the data moves and the scan restarts', async () => {
    const flow = createLargeFlow(makeRecords(), history);
    const late = Math.floor((RECORDS / (PAGE - 1)) * 0.95);
    flow.simulator.setFaults([
      beforeRequest(late, (service) => service.editRecords('items', insertRows(0, [makeLarge(RECORDS, 0)]))),
    ]);
    const report = await flow.sync();
    expect(eventsOf(flow, 'stream-restarted')).toHaveLength(1);
    expect(streamOf(report)).toMatchObject({ verdict: 'verified', rescans: 1 });
    const { text } = makeLarge(RECORDS);
    const chars = String(Number(clean.chars) + text.length);
    expect(await summarize(flow)).toEqual([{ ...clean, rows: RECORDS + 1, ids: RECORDS + 1, chars }]);
    expect(listFiles(flow, /\.part$|records\.ndjson/)).toEqual([]);
  });

  it('keeps its pages, and nothing else, when it is stopped; the next run continues from there', async () => {
    const flow = createLargeFlow(makeRecords(), history);
    const stopping = new AbortController();
    const stopped = await flow.sync({
      signal: stopping.signal,
      onProgress: (event) => {
        if (event.type === 'page-staged' && event.rowsDone > RECORDS * 0.9)
          stopping.abort(new AbortedError('stopped', { code: 'aborted', hint: '' }));
      },
    });
    expect(streamOf(stopped).status).toBe('stopped');
    expect(listFiles(flow, /\.part$/)).toEqual([]);
    const report = await flow.sync();
    expect(eventsOf(flow, 'stream-resumed')).toHaveLength(1);
    expect(streamOf(report)).toMatchObject({ status: 'complete', verdict: 'verified' });
    expect(await summarize(flow)).toEqual([clean]);
  });
});

const SHORT_STREAM = { path: 'items', paginated: true, key: ['id'] };

function countSecrets(file: string): number {
  return readFileSync(file, 'latin1').split('hush ').length - 1;
}

describe('a first scan so long that its rows go into the file while it lasts', () => {
  /** More than the rows that the engine writes together. */
  const SHORT_RECORDS = GROUP_ROWS + 7_000;

  function createShortFlow(): Flow {
    const records = Array.from({ length: SHORT_RECORDS }, (_, id) => ({
      id,
      text: `${'y'.repeat(120)} ${id}`,
      secret: `hush ${((id * 2_654_435_761) % 2 ** 32).toString(36).repeat(12)}`,
    }));
    return createItemsFlow(records, { stream: { key: ['id'] } });
  }

  function summarizeShort(flow: Flow) {
    return flow.query(`SELECT count(*)::INT AS rows, sum(id)::VARCHAR AS ids, count(DISTINCT text)::INT AS texts,
      count(DISTINCT _run_id)::INT AS runs, count(_synced_at)::INT AS synced FROM items`);
  }

  function expectedOf(rows: number) {
    return [{ rows, ids: String((rows * (rows - 1)) / 2), texts: rows, runs: 1, synced: rows }];
  }

  it('makes them the table', async () => {
    const flow = createShortFlow();
    const sizes: number[] = [];
    const report = await flow.sync({
      onProgress: ({ type }) => {
        if (type === 'stream-committing') sizes.push(statSync(join(flow.stateDir, 'work.duckdb')).size);
      },
    });
    expect(streamOf(report)).toMatchObject({ status: 'complete', verdict: 'verified' });
    expect(report.warnings).toEqual([]);
    // The first group of rows, compressed, when nothing is committed.
    expect(sizes[0]).toBeGreaterThan(2 ** 20);
    expect(await summarizeShort(flow)).toEqual(expectedOf(SHORT_RECORDS));
    expect(await listTables(flow)).toEqual(['items']);
    flow.simulator.editRecords('items', (held) => [{ id: -1, text: 'new' }, ...held.slice(0, -1)]);
    await flow.clock.sleep(DAY_MS);
    expect(streamOf(await flow.sync())).toMatchObject({ verdict: 'verified', rows: { inserted: 1 } });
  });

  it('forgets them when the data moves and the scan restarts', async () => {
    const flow = createShortFlow();
    const late = Math.floor((SHORT_RECORDS / 99) * 0.98);
    const record = { id: SHORT_RECORDS, text: 'late', secret: 'hush' };
    flow.simulator.setFaults([
      beforeRequest(late, (service) => service.editRecords('items', insertRows(0, [record]))),
    ]);
    expect(streamOf(await flow.sync())).toMatchObject({ verdict: 'verified', rescans: 1 });
    expect(await summarizeShort(flow)).toEqual(expectedOf(SHORT_RECORDS + 1));
    expect(await listTables(flow)).toEqual(['items']);
  });

  it('leaves none of their values where it is killed, and the next run excludes a field', async () => {
    const flow = createShortFlow();
    const killed = join(makeFolder(), 'state');
    await flow.sync({
      onProgress: ({ type }) => {
        // As a process that is killed there leaves it.
        if (type === 'stream-committing') execFileSync('cp', ['-r', flow.stateDir, killed]);
      },
    });
    rmSync(flow.stateDir, { recursive: true });
    rmSync(flow.duckdbPath);
    execFileSync('cp', ['-r', killed, flow.stateDir]);
    expect(countSecrets(join(flow.stateDir, 'work.duckdb'))).toBeGreaterThan(0);
    const config = {
      streams: { items: { ...SHORT_STREAM, columns: { secret: { exclude: true as const } } } },
    };
    expect(await flow.sync({ config })).toMatchObject({ exitCode: 0 });
    expect(await summarizeShort(flow)).toEqual(expectedOf(SHORT_RECORDS));
    expect(countSecrets(join(flow.stateDir, 'work.duckdb'))).toBe(0);
    expect(countSecrets(flow.duckdbPath)).toBe(0);
  });

  it('leaves none of its rows in the file when it is stopped while it is loaded', async () => {
    const flow = createShortFlow();
    const stopping = new AbortController();
    const stopped = await flow.sync({
      signal: stopping.signal,
      onProgress: ({ type }) => {
        if (type === 'stream-committing')
          stopping.abort(new AbortedError('stopped', { code: 'aborted', hint: '' }));
      },
    });
    expect(streamOf(stopped).status).toBe('stopped');
    const tables = "SELECT count(*) AS n FROM duckdb_tables() WHERE schema_name = 'main'";
    expect(await queryWorkFile(flow.stateDir, tables)).toEqual([{ n: '0' }]);
    expect(streamOf(await flow.sync())).toMatchObject({ status: 'complete', verdict: 'verified' });
    expect(await summarizeShort(flow)).toEqual(expectedOf(SHORT_RECORDS));
    expect(await listTables(flow)).toEqual(['items']);
  });
});
