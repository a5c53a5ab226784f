import { createHash } from 'node:crypto';
import { isPlannedStop } from '../model/outage.ts';
import type { StreamReport, Verdict } from '../model/run-report.ts';
import { verdicts } from '../model/run-report.ts';
import { chooseAssets, findForeignAssets, type SyncedAsset, type SyncedScan } from './choose-assets.ts';
import type { PipesContext } from './pipes-place.ts';
import type { EndedProcess } from './synced-account.ts';

/** A message of the protocol. */
export interface PipesMessage {
  readonly method:
    | 'opened'
    | 'log'
    | 'report_asset_materialization'
    | 'report_asset_check'
    | 'report_custom_message'
    | 'closed';
  readonly params: Readonly<Record<string, unknown>>;
}

interface MetadataValue {
  readonly raw_value: unknown;
  readonly type: 'int' | 'text' | 'json';
}

type Metadata = Readonly<Record<string, MetadataValue>>;

/** What Dagster is told of a process that ended: its assets, its checks, what went wrong, and when to run it again. */
export function buildMessages(context: PipesContext, ended: EndedProcess): readonly PipesMessage[] {
  const { accounts, exitCode, resumeAt, warnings } = ended;
  const assets = chooseAssets(context, accounts);
  const failed = accounts.find(({ error }) => error !== undefined);
  const error = ended.error ?? failed?.error;
  const foreign = findForeignAssets(context).map((key) => `the Dagster step has no asset ${key}`);
  return [
    ...[...warnings, ...foreign].map((message) => log(message, 'warning')),
    ...assets.filter(isMaterialized).map(materialize),
    ...assets.flatMap((asset) => checkVerdict(context.check, asset)),
    ...(error === undefined ? [] : [log(`${error.message}\n${error.hint}`, logLevel(exitCode))]),
    {
      method: 'report_custom_message',
      params: { payload: { sluice: { exitCode, resumeAt: resumeAt ?? null } } },
    },
    {
      method: 'closed',
      params:
        error === undefined || isPlannedStop(error)
          ? {}
          : {
              exception: {
                name: error.code,
                message: `${error.message}\n${error.hint}`,
                stack: [],
                cause: null,
                context: null,
              },
            },
    },
  ];
}

function log(message: string, level: 'warning' | 'error'): PipesMessage {
  return { method: 'log', params: { message, level } };
}

function logLevel(exitCode: number): 'warning' | 'error' {
  return exitCode === 75 ? 'warning' : 'error';
}

/** Readers see all rows of the asset as they were when the process ended, or was left alone as fresh. */
function isMaterialized({ scans }: SyncedAsset): boolean {
  const read = scans.filter(isOffered);
  return read.length > 0 && read.every((scan) => scan.isPublished && isUpToDate(scan.report));
}

function isUpToDate({ status }: StreamReport): boolean {
  return status === 'complete' || status === 'fresh';
}

/** A stream that the subscription does not have has no rows, and never will. */
function isOffered({ report }: SyncedScan): boolean {
  return report.status !== 'unavailable';
}

function materialize({ key, scans }: SyncedAsset): PipesMessage {
  return {
    method: 'report_asset_materialization',
    params: { asset_key: key, data_version: versionOf(scans), metadata: describeScans(scans) },
  };
}

/** The run id; of several runs, what stands for all of their ids. */
function versionOf(scans: readonly SyncedScan[]): string {
  const ids = [...new Set(scans.map(({ runId }) => runId))].toSorted();
  const [only = ''] = ids;
  return ids.length === 1 ? only : createHash('sha256').update(ids.join('\n')).digest('hex').slice(0, 32);
}

function describeScans(scans: readonly SyncedScan[]): Metadata {
  const reports = scans.map(({ report }) => report);
  const sum = (countOf: (report: StreamReport) => number) =>
    toInt(reports.reduce((all, one) => all + countOf(one), 0));
  const rows = reports.flatMap(({ rowsInTable }) => rowsInTable ?? []);
  const watermark = reports.flatMap((report) => report.watermark ?? []).toSorted()[0];
  const ids = [...new Set(scans.map(({ runId }) => runId))];
  return {
    // The name that Dagster itself shows.
    ...(rows.length === reports.length && {
      'dagster/row_count': toInt(rows.reduce((all, one) => all + one, 0)),
    }),
    verdict: toText(worstOf(reports) ?? 'none'),
    rows_read: sum(({ rows: { read } }) => read),
    rows_inserted: sum(({ rows: { inserted } }) => inserted),
    rows_updated: sum(({ rows: { updated } }) => updated),
    rows_deleted: sum(({ rows: { deleted } }) => deleted),
    rows_quarantined: sum(({ rows: { quarantined } }) => quarantined),
    requests: sum(({ requests }) => requests),
    ...(watermark !== undefined && { watermark: toText(watermark) }),
    run_id: ids.length === 1 ? toText(ids[0] ?? '') : { raw_value: ids, type: 'json' },
  };
}

function toInt(value: number): MetadataValue {
  return { raw_value: value, type: 'int' };
}

function toText(value: string): MetadataValue {
  return { raw_value: value, type: 'text' };
}

/** The least certain verdict; undefined if nothing was read. */
function worstOf(reports: readonly StreamReport[]): Verdict | undefined {
  return verdicts.toReversed().find((verdict) => reports.some((report) => report.verdict === verdict));
}

/**
 * Verdicts as a check: it passes if every scan is verified and published. What cannot be proved is a warning, what was
 * not reached before the process stopped is not judged, and a stream that failed is an error.
 */
function checkVerdict(name: string | undefined, { key, scans }: SyncedAsset): readonly PipesMessage[] {
  if (name === undefined) return [];
  const reports = scans.filter(isOffered).map(({ report }) => report);
  const judged = reports.filter(
    ({ status }) => status === 'failed' || isUpToDate({ status } as StreamReport),
  );
  const failed = judged.find(({ status }) => status === 'failed');
  if (judged.length < reports.length && failed === undefined) return [];
  if (judged.length === 0) return [];
  const isPassed = judged.every((report) => isUpToDate(report) && report.verdict === 'verified');
  // Readers do not see the rows that were judged.
  if (isPassed && scans.some((scan) => !scan.isPublished)) return [];
  const reasons = judged.flatMap((report) => [
    ...report.reasons,
    ...(report.error === undefined ? [] : [report.error.message]),
  ]);
  return [
    {
      method: 'report_asset_check',
      params: {
        asset_key: key,
        check_name: name,
        passed: isPassed,
        severity: failed === undefined ? 'WARN' : 'ERROR',
        metadata: {
          verdict: toText(worstOf(judged) ?? 'none'),
          ...(reasons.length > 0 && { reasons: { raw_value: [...new Set(reasons)], type: 'json' } }),
        },
      },
    },
  ];
}
