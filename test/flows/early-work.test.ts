import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { AbortedError } from '../../src/model/errors.ts';
import { insertRows } from '../../src/simulator/fault-effects.ts';
import { beforeRequest } from '../../src/simulator/faults.ts';
import { createItemsFlow, eventsOf, type Flow, streamOf } from '../support/sync-harness.ts';

// So large that the scan is worth reading before it has ended: 20 MB, of which each page has one.
const RECORDS = 200;
const PAGE = 10;
const filler = 'x'.repeat(100_000);

interface Large {
  readonly id: number;
  readonly amount: number | string;
  readonly text: string;
}

function makeLarge(id: number, amount: number | string = id * 2): Large {
  return { id, amount, text: `${id} ${filler}` };
}

function createLargeFlow(records: readonly Large[]): Flow {
  return createItemsFlow(records, { stream: { pageSize: PAGE, key: ['id'] } });
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

const clean = {
  rows: RECORDS,
  ids: RECORDS,
  chars: String(makeRecords().reduce((sum, { text }) => sum + text.length, 0)),
  least: '0',
  type: 'BIGINT',
};

describe('a scan so long that its pages are worked on before it has ended', () => {
  it('gives the rows and the archive of any other scan', async () => {
    const flow = createLargeFlow(makeRecords());
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
    // The archive was under way by then: the early work is what was tried here.
    expect(sizes).toHaveLength(1);
    expect(await summarize(flow)).toEqual([clean]);
    const rebuilt = await flow.rebuild();
    expect(rebuilt.streams[0]).toMatchObject({ status: 'rebuilt' });
    expect(await summarize(flow)).toEqual([clean]);
    expect(listFiles(flow, /\.part$|records\.ndjson/)).toEqual([]);
  });

  it('takes the types of the whole scan, whatever its first part looked like', async () => {
    const flow = createLargeFlow(makeRecords().with(RECORDS - 5, makeLarge(RECORDS - 5, 'n/a')));
    expect(streamOf(await flow.sync())).toMatchObject({ verdict: 'verified' });
    expect(await summarize(flow)).toEqual([{ ...clean, type: 'VARCHAR' }]);
  });

  it('forgets what was read when the data moves and the scan restarts', async () => {
    const flow = createLargeFlow(makeRecords());
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
    const flow = createLargeFlow(makeRecords());
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
