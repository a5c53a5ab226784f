import { expect, it } from 'vitest';
import type { StatusReport } from '../../src/model/reports.ts';
import { renderStatus } from '../../src/render/render-status.ts';

it('shows the status where a destination that may have the state cannot be asked', () => {
  const restoreUnknown = {
    code: 'publish_failed',
    message: 'no answer',
    hint: 'Start it.',
    exitCode: 6,
  } as const;
  const report: StatusReport = {
    duckdbPath: '/w.duckdb',
    published: undefined,
    streams: [],
    quota: undefined,
    lastRun: undefined,
    refused: undefined,
    quarantined: 0,
    restoreUnknown,
  };
  expect(renderStatus(report, { nowMs: 0, columns: undefined })).toContain(
    'There is no state here, and whether a destination has one is not known: no answer\n  next: Start it.\n',
  );
});
