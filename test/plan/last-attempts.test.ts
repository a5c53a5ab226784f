import { describe, expect, it } from 'vitest';
import { appendRunFile } from '../../state/run-file.ts';
import { listUnsettled, withoutFreshness } from '../../src/plan/last-attempts.ts';
import type { StreamReport } from '../../src/model/run-report.ts';
import { makeRun } from '../state/make-run.ts';
import { makeTempFolder } from '../support/temp-folder.ts';
import { makeCheckpoint, makeReport } from '../support/fixtures.ts';

function afterRuns(...reports: readonly Partial<StreamReport>[]): ReadonlySet<string> {
  const folder = makeTempFolder();
  for (const [at, report] of reports.entries())
    appendRunFile(
      folder,
      makeRun({ runId: `run-${at}`, streams: [makeReport({ mode: 'full', ...report })] }),
    );
  return new Set(listUnsettled(folder).keys());
}

describe('the last attempt at a stream', () => {
  it('counts, whether it failed or was stopped, until one ends well', () => {
    expect(afterRuns({ status: 'complete' })).toEqual(new Set());
    expect(afterRuns({ status: 'complete' }, { status: 'failed' })).toEqual(new Set(['items']));
    expect(afterRuns({ status: 'stopped' })).toEqual(new Set(['items']));
    expect(afterRuns({ status: 'failed' }, { status: 'complete' })).toEqual(new Set());
  });

  it('is none where nothing was asked: of a fresh stream, in a retry, in a rebuild', () => {
    const failed = { status: 'failed' } as const;
    expect(afterRuns(failed, { status: 'fresh', mode: undefined })).toEqual(new Set(['items']));
    expect(afterRuns(failed, { status: 'complete', mode: undefined })).toEqual(new Set(['items']));
    expect(afterRuns(failed, { status: 'complete', mode: 'rebuild' })).toEqual(new Set(['items']));
    expect(afterRuns({ status: 'failed', mode: 'rebuild' })).toEqual(new Set());
  });

  it('is kept with its run and its error, the newest one', () => {
    const folder = makeTempFolder();
    const error = { code: 'server_failed', message: 'items: no', hint: 'Later.', exitCode: 4 } as const;
    for (const [runId, message] of [
      ['run-1', 'old'],
      ['run-2', 'new'],
    ] as const)
      appendRunFile(
        folder,
        makeRun({
          runId,
          streams: [makeReport({ mode: 'full', status: 'failed', error: { ...error, message } })],
        }),
      );
    expect(listUnsettled(folder).get('items')).toMatchObject({
      runId: 'run-2',
      status: 'failed',
      error: { message: 'new' },
    });
  });

  it('is distinguished by slice, and voids what was verified before', () => {
    const unsettled = afterRuns({ status: 'failed', slice: 'entity=acme' });
    const [acme, globex] = ['acme', 'globex'].map((entity) => makeCheckpoint({ slice: `entity=${entity}` }));
    expect(withoutFreshness(acme, unsettled)?.lastVerdict).toBeUndefined();
    expect(withoutFreshness(globex, unsettled)).toBe(globex);
  });
});
