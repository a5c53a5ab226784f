import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { addRun, noTotals, readRunTotals, writeRunTotals } from '../../state/run-totals.ts';
import { makeRunReport, makeStreamReport } from '../cli/support/reports.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-totals-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('totals of runs', () => {
  it('add up, over runs that could not begin as well', () => {
    const streams = [makeStreamReport(), makeStreamReport({ slice: 'entity=acme' })];
    const report = makeRunReport({ streams, retries: 2, waitedMs: 500 });
    const totals = [0, 5, 0].reduce((sum, exitCode) => addRun(sum, exitCode as 0 | 5, report), noTotals);
    expect(addRun(totals, 75, undefined)).toMatchObject({
      runs: { 0: 2, 5: 1, 75: 1 },
      requests: 126,
      retries: 6,
      waitedMs: 1_500,
      lastSuccessAt: report.finishedAt,
      streams: [
        { slice: '', read: 300, inserted: 300 },
        { slice: 'entity=acme', read: 300, inserted: 300 },
      ],
    });
  });

  it('are kept, and counted again where their file is damaged', () => {
    const totals = addRun(noTotals, 0, makeRunReport());
    writeRunTotals(folder, totals);
    expect(readRunTotals(folder)).toEqual(totals);
    for (const damage of ['', '{', '[]', '{"version":2}', JSON.stringify({ ...totals, requests: -1 })]) {
      writeFileSync(join(folder, 'totals.json'), damage);
      expect(readRunTotals(folder)).toEqual(noTotals);
    }
  });
});
