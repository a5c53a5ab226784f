import { describe, expect, it } from 'vitest';
import { PipesSession } from '../../src/dagster/pipes-session.ts';
import type { EndedProcess } from '../../src/dagster/synced-account.ts';
import type { RunReport, StreamReport } from '../../src/model/run-report.ts';
import { makeRunReport, makeStreamReport } from '../cli/support/reports.ts';
import { encodeParam, makeStep, parseMessages } from './pipes.ts';

const ERROR = { code: 'network_unreachable', message: 'no route', hint: 'Wait.', exitCode: 75 } as const;
const NO_CHANGES = { read: 0, inserted: 0, updated: 0, unchanged: 0, deleted: 0, quarantined: 0 };
const ASSETS = ['sluice/items', 'sluice/other'];
const CHECK = { sluice: { check: 'verdict' } };

function makeEnd(streams: readonly Partial<StreamReport>[], report: Partial<RunReport> = {}): EndedProcess {
  const made = makeRunReport({
    ...report,
    streams: streams.map((one) => makeStreamReport({ stream: 'items', ...one })),
  });
  const error = made.error ?? made.streams.find((one) => one.error !== undefined)?.error;
  return {
    exitCode: made.exitCode,
    resumeAt: made.resumeAt,
    accounts: [{ account: undefined, report: made, error }],
    error: undefined,
    warnings: made.warnings,
  };
}

function endSession(ended: EndedProcess, step = makeStep({ assets: ASSETS, extras: CHECK })) {
  const session = new PipesSession({
    env: step.env,
    write: () => undefined,
    mask: (text) => text.replaceAll('secret', '***'),
  });
  const warnings = session.end(ended);
  const messages = step.read();
  const paramsOf = (method: string) =>
    messages.filter((one) => one.method === method).map(({ params }) => params);
  return { warnings, messages, paramsOf };
}

describe('a session with Dagster', () => {
  it('opens at once, and closes at the end, with the version of the protocol', () => {
    const step = makeStep();
    const session = new PipesSession({ env: step.env, write: () => undefined, mask: (text) => text });
    expect(step.read()).toEqual([
      { __dagster_pipes_version: '0.1', method: 'opened', params: { extras: {} } },
    ]);
    session.end(makeEnd([{}]));
    expect(step.read().at(-1)).toMatchObject({ method: 'closed', params: {} });
  });

  it('materializes what is complete and published, with the run id as its version', () => {
    const rows = { read: 5, inserted: 3, updated: 1, unchanged: 1, deleted: 0, quarantined: 0 };
    const { paramsOf } = endSession(
      makeEnd([{ verdict: 'verified', rows, rowsInTable: 9, requests: 2 }], { runId: 'run-7' }),
    );
    expect(paramsOf('report_asset_materialization')).toEqual([
      {
        asset_key: 'sluice/items',
        data_version: 'run-7',
        metadata: expect.objectContaining({
          'dagster/row_count': { raw_value: 9, type: 'int' },
          rows_inserted: { raw_value: 3, type: 'int' },
          requests: { raw_value: 2, type: 'int' },
          verdict: { raw_value: 'verified', type: 'text' },
          run_id: { raw_value: 'run-7', type: 'text' },
        }) as object,
      },
    ]);
  });

  it.each<readonly [string, EndedProcess, number]>([
    ['a fresh stream', makeEnd([{ status: 'fresh' }]), 1],
    ['a stream that the subscription does not have', makeEnd([{ status: 'unavailable' }]), 0],
    ['a slice that failed', makeEnd([{}, { status: 'failed', error: ERROR }]), 0],
    ['a stopped stream', makeEnd([{ status: 'stopped' }]), 0],
    [
      'rows that were not published',
      makeEnd([{}], { exitCode: 6, error: { ...ERROR, code: 'publish_failed', exitCode: 6 } }),
      0,
    ],
  ])('materializes only what readers see whole: %s', (_, ended, count) => {
    expect(endSession(ended).paramsOf('report_asset_materialization')).toHaveLength(count);
  });

  it.each<readonly [string, Partial<StreamReport>, number]>([
    ['rows that it committed', {}, 0],
    ['rows that were there before', { rows: { ...NO_CHANGES, read: 5, unchanged: 5 } }, 1],
  ])('says of a run that a signal ended before it published: %s', (_, stream, count) => {
    const error = { ...ERROR, code: 'aborted', exitCode: 143 } as const;
    const other = { stream: 'other', status: 'stopped', error } as const;
    const ended = makeEnd([stream, other], { exitCode: 143, error, published: undefined });
    const { paramsOf } = endSession(ended);
    const namesOf = (method: string) => paramsOf(method).map(({ asset_key: name }) => name);
    const expected = count === 0 ? [] : ['sluice/items'];
    expect(namesOf('report_asset_materialization')).toEqual(expected);
    expect(namesOf('report_asset_check')).toEqual(expected);
  });

  it.each<readonly [string, readonly Partial<StreamReport>[], readonly unknown[]]>([
    ['verified passes', [{ verdict: 'verified' }], [[true, 'WARN']]],
    ['fresh keeps its verdict', [{ status: 'fresh', verdict: 'verified' }], [[true, 'WARN']]],
    ['unverified warns', [{ verdict: 'unverified' }], [[false, 'WARN']]],
    ['one slice that drifted warns', [{ verdict: 'verified' }, { verdict: 'drifted' }], [[false, 'WARN']]],
    [
      'failed is an error',
      [{ status: 'failed', verdict: undefined, error: ERROR }, { status: 'not-run' }],
      [[false, 'ERROR']],
    ],
    ['stopped is not judged', [{ verdict: 'verified' }, { status: 'stopped' }], []],
    ['unavailable is not judged', [{ status: 'unavailable' }], []],
  ])('makes a check of verdicts: %s', (_, streams, expected) => {
    const checks = endSession(makeEnd(streams)).paramsOf('report_asset_check');
    expect(checks.map(({ passed, severity }) => [passed, severity])).toEqual(expected);
  });

  it('reports no check that the step did not name: Dagster would fail it', () => {
    const { paramsOf } = endSession(makeEnd([{}]), makeStep({ assets: ASSETS }));
    expect(paramsOf('report_asset_check')).toEqual([]);
  });

  it('says when to continue, and that a planned stop is not a failure', () => {
    const error = { ...ERROR, code: 'quota_exhausted' } as const;
    const resumeAt = '2026-01-31T07:00:00.000Z';
    const { paramsOf } = endSession(
      makeEnd([{ status: 'stopped', error }], { exitCode: 75, error, resumeAt }),
    );
    expect(paramsOf('report_custom_message')).toEqual([{ payload: { sluice: { exitCode: 75, resumeAt } } }]);
    expect(paramsOf('log')).toEqual([{ message: 'no route\nWait.', level: 'warning' }]);
    expect(paramsOf('closed')).toEqual([{}]);
  });

  it('closes with the error of a run that could not start, without secrets', () => {
    const error = {
      ...ERROR,
      code: 'key_rejected',
      message: 'the key secret is refused',
      exitCode: 3,
    } as const;
    const { paramsOf } = endSession({
      exitCode: 3,
      resumeAt: undefined,
      accounts: [],
      error,
      warnings: ['secret expires'],
    });
    expect(paramsOf('log').map(({ message }) => message)).toEqual([
      '*** expires',
      'the key *** is refused\nWait.',
    ]);
    expect(paramsOf('closed')).toMatchObject([
      { exception: { name: 'key_rejected', message: 'the key *** is refused\nWait.', stack: [] } },
    ]);
  });

  it('joins the runs of accounts in an asset that names the stream alone', () => {
    const [one] = makeEnd([{ rowsInTable: 2, verdict: 'verified' }], { runId: 'a' }).accounts;
    const [other] = makeEnd([{ rowsInTable: 3, verdict: 'unverified' }], { runId: 'b' }).accounts;
    const accounts = [one, other].map((found, at) => ({
      report: found?.report,
      error: undefined,
      account: ['acme', 'globex'][at],
    }));
    const { paramsOf } = endSession({ ...makeEnd([]), accounts });
    const [told] = paramsOf('report_asset_materialization');
    expect(told?.['metadata']).toMatchObject({
      'dagster/row_count': { raw_value: 5 },
      verdict: { raw_value: 'unverified' },
      run_id: { raw_value: ['a', 'b'], type: 'json' },
    });
    expect(told?.['data_version']).toMatch(/^[0-9a-f]{32}$/);
  });

  it('writes to a stream where Dagster reads one', () => {
    const written: string[] = [];
    const session = new PipesSession({
      env: {
        DAGSTER_PIPES_CONTEXT: encodeParam({ data: { asset_keys: null } }),
        DAGSTER_PIPES_MESSAGES: encodeParam({ stdio: 'stderr' }),
      },
      write: (stream, text) => void written.push(`${stream}: ${text}`),
      mask: (text) => text,
    });
    session.end(makeEnd([]));
    expect(written[0]).toMatch(/^stderr: \{.*"opened".*\}\n$/);
    expect(parseMessages(written[1]?.slice('stderr: '.length) ?? '').at(-1)?.method).toBe('closed');
  });

  it('warns once where messages cannot be written, and says nothing else', () => {
    const step = makeStep();
    const env = { ...step.env, DAGSTER_PIPES_MESSAGES: encodeParam({ path: '/nowhere/messages' }) };
    const session = new PipesSession({ env, write: () => undefined, mask: (text) => text });
    const warnings = session.end(makeEnd([{}]));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/^the run could not be reported to Dagster: ENOENT/);
  });
});
