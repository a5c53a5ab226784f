import type { ExitCode } from './errors.ts';
import type { ReportedError, RunReport, SchemaChange } from './run-report.ts';

/** Records in quarantine, as `quarantine list` shows them. */
export interface QuarantineList {
  /** Records of the streams asked for. */
  readonly total: number;
  readonly reasons: readonly QuarantineReason[];
  /** The newest of them. */
  readonly records: readonly QuarantinedRecord[];
}

/** One reason why records of a stream are in quarantine. */
export interface QuarantineReason {
  readonly stream: string;
  readonly slice: string;
  readonly path: string;
  readonly reason: string;
  readonly records: number;
}

export interface QuarantinedRecord {
  /** The first digits of the hash of stream, slice and text; enough of them to tell records apart. */
  readonly id: string;
  readonly stream: string;
  readonly slice: string;
  readonly runId: string;
  /** Offset of the record's page, and the record's place in it. */
  readonly pageOffset: number;
  readonly rowIndex: number;
  readonly reason: string;
  /** Names joined by dots; empty for the record as a whole. */
  readonly path: string;
  readonly quarantinedAt: string;
  /** Run whose scan showed that the source no longer has the record; undefined while it does. */
  readonly absentSince?: string | undefined;
}

/** One record in full. */
export interface QuarantinedRecordDetail extends QuarantinedRecord {
  /** The whole hash. */
  readonly hash: string;
  /** How often this text is in quarantine. */
  readonly copies: number;
  /** The record as received. */
  readonly record: string;
}

/** The outcome of `quarantine retry`. */
export interface RetryReport {
  readonly runId: string;
  readonly exitCode: ExitCode;
  readonly streams: readonly RetriedStream[];
  readonly warnings: readonly string[];
  readonly published: RunReport['published'];
  readonly error: ReportedError | undefined;
}

export interface RetriedStream {
  readonly stream: string;
  readonly slice: string;
  /** Records that were in quarantine. */
  readonly tried: number;
  readonly inserted: number;
  readonly updated: number;
  readonly unchanged: number;
  /**
   * Records that were dropped because the table has a newer row with their key, or the source no longer has
   * them.
   */
  readonly outdated: number;
  /** Records that stay, and why. */
  readonly left: number;
  readonly leftBecause: readonly {
    readonly path: string;
    readonly reason: string;
    readonly records: number;
  }[];
  readonly schemaChanges: readonly SchemaChange[];
  readonly error: ReportedError | undefined;
}
