import type { ExitCode } from '../model/errors.ts';
import type { NotifyEvent } from '../model/notify.ts';
import type { ReportedError, RunReport, SchemaChange, StreamReport } from '../model/run-report.ts';

/** A run that ended, or that could not start: then there is an error and no report. */
export type EndedRun =
  | { readonly report: RunReport; readonly error?: undefined }
  | { readonly report?: undefined; readonly error: ReportedError };

/** One notice, before checking whether it was already sent. */
export interface Notice {
  readonly event: NotifyEvent;
  /** One sentence. */
  readonly summary: string;
  /** What identifies repeats of it; undefined for one that is sent every time. */
  readonly sameness: string | undefined;
  /** About what joins accounts, not about one of them: it is remembered apart from those. */
  readonly isJoint?: boolean;
}

/** What a notice is remembered by. */
export type NoticeKey = NotifyEvent | 'joint';

export function keyOfNotice({ event, isJoint = false }: Notice): NoticeKey {
  return isJoint ? 'joint' : event;
}

/** The exit code of a run that ended one way or the other. */
export function exitCodeOf(run: EndedRun): ExitCode {
  return run.report === undefined ? run.error.exitCode : run.report.exitCode;
}

/** Schema changes of a table that readers know: the columns of its first load are not news. */
export function listSchemaChanges(report: StreamReport): readonly SchemaChange[] {
  const { rows, rowsInTable, schemaChanges } = report;
  const isKept = rows.updated > 0 || rows.unchanged > 0 || rows.deleted > 0;
  const isFirst = !isKept && rows.inserted === rowsInTable;
  return isFirst && schemaChanges.every(({ change }) => change === 'added') ? [] : schemaChanges;
}
