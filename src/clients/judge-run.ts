import type { ErrorCode, ExitCode } from '../model/errors.ts';
import type { EndedRun } from '../model/run-observer.ts';
import {
  type ReportedError,
  type RunReport,
  type StreamReport,
  toReportedError,
} from '../model/run-report.ts';

/** How the sync of a stream ended, for the program that reads its rows. */
export type StreamEnd =
  | { readonly kind: 'complete' }
  /** A limit stopped it with its progress saved: the next read continues. */
  | { readonly kind: 'limited'; readonly error: ReportedError; readonly quotaReset: number | undefined }
  | { readonly kind: 'failed'; readonly error: ReportedError };

/** How a sync ended, stream by stream. */
export interface JudgedRun {
  readonly ends: ReadonlyMap<string, StreamEnd>;
  /** The exit code of the sync. */
  readonly exitCode: ExitCode;
  /** What failed, and of which stream; a limit does not count as a failure. */
  readonly failures: readonly Failure[];
  /** Whether what earlier syncs committed may be sent: not where the state may be somebody else's. */
  readonly maySend: boolean;
}

export interface Failure {
  readonly stream: string | undefined;
  readonly error: ReportedError;
}

const LIMITS: readonly ErrorCode[] = ['quota_exhausted', 'deadline_reached', 'request_limit_reached'];

/** Judges a sync by what it means for each of the streams that a program wants. */
export function judgeRun(ended: EndedRun, streams: readonly string[]): JudgedRun {
  if (ended.report === undefined) {
    const error = toReportedError(ended.error);
    const end = toEnd(error);
    return {
      ends: new Map(streams.map((name) => [name, end])),
      exitCode: error.exitCode,
      failures: end.kind === 'failed' ? [{ stream: undefined, error }] : [],
      maySend: error.exitCode !== 2,
    };
  }
  const { report } = ended;
  const ends = new Map(streams.map((name) => [name, judgeStream(report, name)]));
  const failed = [...ends].flatMap(([stream, end]) =>
    end.kind === 'failed' ? [{ stream, error: end.error }] : [],
  );
  const whole = report.error !== undefined && !isLimit(report.error);
  return {
    ends,
    exitCode: report.exitCode,
    failures: whole ? [{ stream: undefined, error: report.error }] : failed,
    maySend: report.error?.code !== 'identity_mismatch',
  };
}

function judgeStream(report: RunReport, name: string): StreamEnd {
  // Such an error is of all streams: what was committed may not be published.
  if (report.error !== undefined && !isLimit(report.error)) return { kind: 'failed', error: report.error };
  const own = report.streams.filter(({ stream }) => stream === name);
  const open = own.filter(isOpen);
  if (own.length > 0 && open.length === 0) return { kind: 'complete' };
  const errors = open.flatMap(({ error }) => error ?? []);
  const error =
    errors.find((one) => !isLimit(one)) ??
    errors[0] ??
    report.error ??
    report.streams.find((one) => one.error !== undefined)?.error;
  return error === undefined ? { kind: 'complete' } : toEnd(error, report.resumeAt);
}

function isOpen({ status }: StreamReport): boolean {
  return status === 'failed' || status === 'stopped' || status === 'not-run';
}

function isLimit({ code }: ReportedError): boolean {
  return LIMITS.includes(code);
}

function toEnd(error: ReportedError, resumeAt: string | undefined = error.resumeAt): StreamEnd {
  if (!isLimit(error)) return { kind: 'failed', error };
  const at = error.resumeAt ?? resumeAt;
  const isQuota = error.code === 'quota_exhausted' && at !== undefined;
  return { kind: 'limited', error, quotaReset: isQuota ? Date.parse(at) : undefined };
}
