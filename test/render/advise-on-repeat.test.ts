import { expect, it } from 'vitest';
import type { RunReport } from '../../src/model/run-report.ts';
import { adviseOnRepeat } from '../../src/render/describe-run.ts';

const report = (exitCode: number, ...statuses: readonly string[]) =>
  ({
    exitCode,
    streams: statuses.map((status, at) => ({ stream: `s${at}`, slice: '', status })),
  }) as unknown as RunReport;

it.each([
  [75, ['complete', 'stopped', 'not-run'], 's1,s2'],
  [75, ['fresh', 'failed'], 's1'],
  [75, ['stopped', 'not-run'], undefined],
  [75, ['complete', 'complete'], undefined],
  [5, ['complete', 'failed'], undefined],
])('names with exit code %i and %j the streams %s', (exitCode, statuses, names) => {
  const advice = adviseOnRepeat(report(exitCode, ...statuses));
  expect(advice).toBe(
    names === undefined
      ? ''
      : `The same command would read complete streams once more: add --streams ${names}`,
  );
});
