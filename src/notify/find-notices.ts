import type { ErrorCode } from '../model/errors.ts';
import { countScans } from '../text/format-count.ts';
import { listNames } from '../text/list-names.ts';
import { withName } from '../text/name-once.ts';
import { isPlannedStop } from '../model/outage.ts';
import type { ReportedError, RunReport, StreamReport } from '../model/run-report.ts';
import { nameScan } from '../model/stream.ts';
import { type EndedRun, exitCodeOf, listSchemaChanges, type Notice } from './notice.ts';

/** What a run's notices depend on in addition to the run. */
export interface NoticeFacts {
  /** The config's warning of a key that expires soon; undefined while there is none. */
  readonly keyExpiry: string | undefined;
  readonly keyExpiresAt: string | undefined;
}

const DRIFT_CODES: ReadonlySet<ErrorCode> = new Set(['source_drifted', 'source_emptied', 'deletes_refused']);

/** All notices of one run, most important first; pure. */
export function findNotices(run: EndedRun, facts: NoticeFacts): readonly Notice[] {
  const { report } = run;
  return [
    ...findFailure(run),
    ...(report === undefined ? [] : [...findDrift(report), ...findSchemaChanges(report)]),
    ...findKeyExpiry(facts),
    ...(report?.exitCode === 0 ? [describeSuccess(report)] : []),
  ];
}

function findFailure(run: EndedRun): readonly Notice[] {
  const exitCode = exitCodeOf(run);
  // A person who stopped a run by a signal knows that it stopped.
  if (exitCode === 0 || exitCode === 130 || exitCode === 143) return [];
  const failures = run.report === undefined ? [{ name: '', error: run.error }] : listFailures(run.report);
  if (exitCode === 75 && failures.every(({ error }) => isPlannedStop(error))) return [];
  const [first] = failures;
  const more = failures.length > 1 ? ` (and ${failures.length - 1} more)` : '';
  const message = first?.error.message ?? 'no reason was given';
  const told = first === undefined || first.name === '' ? message : withName(message, first.name);
  const summary = `sync failed with exit code ${exitCode}: ${told}${more}`;
  const sameness = JSON.stringify([exitCode, failures.map(({ name, error }) => [name, error.code])]);
  return [{ event: 'failure', summary, sameness }];
}

function listFailures({ error, streams }: RunReport): readonly { name: string; error: ReportedError }[] {
  const ofStreams = streams.flatMap((stream) =>
    stream.error === undefined ? [] : [{ name: nameOf(stream), error: stream.error }],
  );
  // The run's error is often a stream's: reported once, with the stream's name.
  const isTold = ofStreams.some(
    ({ error: { code, message } }) => code === error?.code && message === error.message,
  );
  return error === undefined || isTold ? ofStreams : [{ name: '', error }, ...ofStreams];
}

function findDrift({ streams }: RunReport): readonly Notice[] {
  const drifted = streams.filter(
    ({ verdict, error }) => verdict === 'drifted' || (error !== undefined && DRIFT_CODES.has(error.code)),
  );
  const [first] = drifted;
  if (first === undefined) return [];
  const names = drifted.map(nameOf);
  const reason = first.error?.message ?? first.reasons[0];
  const summary = `the source changed while it was read: ${listNames(names)}${reason === undefined ? '' : ` (${reason})`}`;
  return [{ event: 'drift', summary, sameness: JSON.stringify(names) }];
}

function findSchemaChanges({ streams }: RunReport): readonly Notice[] {
  const changed = streams.flatMap((stream) =>
    listSchemaChanges(stream).map(({ column, change }) => `${nameOf(stream)}.${column} ${change}`),
  );
  if (changed.length === 0) return [];
  return [{ event: 'schema-change', summary: `columns changed: ${listNames(changed)}`, sameness: undefined }];
}

function findKeyExpiry({ keyExpiry, keyExpiresAt }: NoticeFacts): readonly Notice[] {
  if (keyExpiry === undefined) return [];
  return [{ event: 'key-expiry', summary: keyExpiry, sameness: keyExpiresAt ?? '' }];
}

function describeSuccess({ rows, streams }: RunReport): Notice {
  const count = countScans(streams);
  const summary = `sync complete: ${count}, ${rows.inserted} new, ${rows.updated} changed, ${rows.deleted} deleted rows`;
  return { event: 'success', summary, sameness: undefined };
}

function nameOf({ stream, slice }: StreamReport): string {
  return nameScan(stream, slice);
}
