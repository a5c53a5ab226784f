import type { QuotaSnapshot } from './quota.ts';
import type { RecordedChange } from './schema-report.ts';
import type { RefusedRun } from './refused-run.ts';
import type { PublishedFault, StreamStatusRow } from './reports.ts';
import type { ReportedError, RowCounts } from './run-report.ts';
import type { RunUnderWay } from './run-under-way.ts';

/** Everything that `report` shows, gathered at one moment; times are ISO texts, lists are bounded. */
export interface ReportData {
  readonly madeAt: string;
  /** Version of Sluice that created it. */
  readonly version: string;
  readonly source: { readonly connector: string; readonly baseUrl: string };
  readonly published:
    { readonly path: string; readonly bytes: number; readonly modifiedAt: string } | undefined;
  /** False if values of records were left out. */
  readonly showsValues: boolean;
  /** Warnings about the config, e.g. a key that expires soon. */
  readonly warnings: readonly string[];
  /** What is published was changed or damaged since. */
  readonly faults: readonly PublishedFault[];
  /** Rows that are missing from the files of a lake, or too many; one sentence per table. */
  readonly losses: readonly string[];
  readonly streams: readonly StreamFacts[];
  /** The last runs, oldest first. */
  readonly runs: readonly RunFacts[];
  /** The progress of a run that goes on now. */
  readonly underWay: RunUnderWay | undefined;
  /** A sync after them that was refused before it began. */
  readonly refused: RefusedRun | undefined;
  readonly requests: RequestFacts;
  readonly quota: (QuotaSnapshot & { readonly windowMs: number }) | undefined;
  readonly tables: readonly TableFacts[];
  readonly schemaChanges: { readonly total: number; readonly newest: readonly RecordedChange[] };
  readonly quarantine: { readonly total: number; readonly reasons: readonly QuarantineFacts[] };
  /** What was left out because it was too much, as sentences. */
  readonly leftOut: readonly string[];
}

/** A stream or a slice: its state, and its last runs. */
export interface StreamFacts extends StreamStatusRow {
  /** Oldest first; at most one a run. */
  readonly attempts: readonly AttemptFacts[];
  /** The last attempt that was begun, with what was said about it. */
  readonly lastAttempt:
    | (AttemptFacts & { readonly reasons: readonly string[]; readonly error: ReportedError | undefined })
    | undefined;
}

/** The outcome of a stream in one run, in the words of `_sluice.stream_runs`. */
export interface AttemptFacts {
  readonly runId: string;
  readonly startedAt: string;
  readonly status: string;
  readonly verdict: string | undefined;
}

export interface RunFacts {
  readonly runId: string;
  /** False for a rebuild and a retry of quarantined records, which say nothing about the source. */
  readonly isSync: boolean;
  readonly startedAt: string;
  /** undefined while it runs, and for a run that was killed. */
  readonly finishedAt: string | undefined;
  readonly status: string;
  readonly exitCode: number | undefined;
  readonly requests: number;
  readonly retries: number;
  readonly waitedMs: number;
  readonly rows: RowCounts;
  readonly error: ReportedError | undefined;
}

/** Requests by the hour (UTC), from the first hour to the last without a gap. */
export interface RequestFacts {
  readonly hours: readonly { readonly hour: string; readonly requests: number }[];
  /** What the server allows in an hour, as it last said. */
  readonly limit: number | undefined;
}

/** One reason why records of a stream are in quarantine, with the newest of them. */
export interface QuarantineFacts {
  readonly stream: string;
  readonly slice: string;
  /** Names joined by dots; empty for the record as a whole. */
  readonly path: string;
  readonly reason: string;
  readonly records: number;
  readonly newestAt: string;
  /** First digits of the newest one's id. */
  readonly sampleId: string;
  /** The newest record as received, cut; undefined if values are left out. */
  readonly sample: string | undefined;
}

/** A table: its rows by day and its columns. */
export interface TableFacts {
  readonly stream: string;
  readonly rows: number;
  readonly days: DayFacts | undefined;
  /** undefined if the columns were left out. */
  readonly profile: TableProfile | undefined;
}

/** Rows by day, from the first day shown to the last without a gap. */
export interface DayFacts {
  /** Column the days are of, `_synced_at` where no column holds dates. */
  readonly column: string;
  readonly counts: readonly { readonly day: string; readonly rows: number }[];
  /** Rows with an earlier day than those shown, a day to come, and none. */
  readonly earlier: number;
  readonly later: number;
  readonly dateless: number;
}

export interface TableProfile {
  /** Rows that were looked at: all of them, or a sample of a large table. */
  readonly rowsSeen: number;
  readonly isSample: boolean;
  readonly columns: readonly ColumnProfile[];
}

export interface ColumnProfile {
  readonly name: string;
  readonly type: string;
  /** Rows without a value, of those seen. */
  readonly nulls: number;
  readonly distinct: number;
  readonly isDistinctExact: boolean;
  /** Why no values are shown, if none are. */
  readonly hidden: 'masked' | 'asked' | undefined;
  readonly values: ColumnValues | undefined;
}

/** What a column holds, in the most informative form. */
export type ColumnValues =
  | { readonly kind: 'few'; readonly top: readonly ValueCount[]; readonly others: number }
  | {
      readonly kind: 'range';
      readonly min: string;
      readonly max: string;
      /** Rows in equal parts of the range; empty where they could not be counted. */
      readonly bins: readonly number[];
    }
  | { readonly kind: 'text'; readonly shortest: number; readonly longest: number };

/** A value as text, cut, and how many rows have it. */
export interface ValueCount {
  readonly value: string;
  readonly rows: number;
}

/** How `report` is to gather. */
export interface ReportRequest {
  /** False leaves every value of a record out. */
  readonly showValues: boolean;
}

/** How a report is shown: as a file that stays as it is, or as a page that is made again at each load. */
export interface Paging {
  readonly isLive: boolean;
  /** Whose page it is, among those of several accounts. */
  readonly account?: string;
}

/** How every report begins; other files are not overwritten. */
export const REPORT_START = '<!doctype html>\n<!-- Made by sluice report. -->\n';
/** The same of a data dictionary: each command replaces its own pages only. */
export const DICTIONARY_START = '<!doctype html>\n<!-- Made by sluice docs. -->\n';

/** The summary of a report, for `--json`. */
export interface ReportSummary {
  readonly madeAt: string;
  /** `bad`: needs action; `note`: good to know; `good`: all well; `idle`: nothing to judge yet. */
  readonly tone: 'good' | 'note' | 'bad' | 'idle';
  readonly headline: string;
  readonly findings: readonly {
    readonly tone: ReportSummary['tone'];
    readonly what: string;
    readonly todo: string | undefined;
  }[];
  readonly streams: readonly {
    readonly stream: string;
    readonly slice: string;
    readonly state: string;
    readonly rows: number | undefined;
    readonly verifiedAt: string | undefined;
  }[];
  readonly runs: number;
  readonly tables: number;
  readonly quarantined: number;
  readonly leftOut: readonly string[];
}

/** A report as a file's content, and in short. */
export interface RenderedReport {
  readonly html: string;
  readonly summary: ReportSummary;
}

/** An account in a report of several: what was gathered of it, or why nothing could be. */
export type AccountReportData = { readonly account: string } & (
  | { readonly data: ReportData; readonly error?: undefined }
  | { readonly data?: undefined; readonly error: ReportedError }
);

/** What a report of several accounts shows. */
export interface AccountsReportData {
  readonly madeAt: string;
  readonly version: string;
  readonly accounts: readonly AccountReportData[];
  /** What is wrong with the files that join all accounts. */
  readonly faults?: readonly PublishedFault[];
}

/** The summary of a report of several accounts, for `--json`. */
export interface AccountsReportSummary extends Pick<ReportSummary, 'madeAt' | 'tone' | 'headline'> {
  /** The worst first. */
  readonly accounts: readonly {
    readonly account: string;
    /** False if nothing of it could be read. */
    readonly ok: boolean;
    /** In a word or two. */
    readonly health: string;
    readonly report: ReportSummary | null;
    readonly error: ReportedError | null;
  }[];
  /** What is wrong with the files that join all accounts; absent where nothing is. */
  readonly faults?: readonly PublishedFault[];
}

/** A report of several accounts as a file's content, and in short. */
export interface RenderedAccountsReport {
  readonly html: string;
  readonly summary: AccountsReportSummary;
}
