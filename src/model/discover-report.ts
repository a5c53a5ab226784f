import type { QuotaSnapshot } from './quota.ts';
import type { ReportedError } from './run-report.ts';
import type { ColumnType } from './schema.ts';

/** What `discover` found out about the selected streams. */
export interface DiscoverReport {
  readonly streams: readonly DiscoveredStream[];
  readonly probes: ProbeOutcome;
  readonly contracts: readonly ContractFile[];
  /** Lines for sluice.yaml that hold what was found; undefined when there is nothing to add. */
  readonly configLines: string | undefined;
  readonly requestsSpent: number;
  readonly quota: QuotaSnapshot | undefined;
}

/** Whether parameters were tested, and the most requests that takes. */
export interface ProbeOutcome {
  readonly state: 'asked' | 'not-asked' | 'nothing-to-ask';
  readonly mostRequests: number;
  /** The most that the quota allowed, if that is less. */
  readonly affordable?: number | undefined;
  /** Parameters that were not tested because the quota or `--max-requests` did not allow it. */
  readonly leftOut?: readonly LeftOutParam[] | undefined;
  /** What ended the tests early or left some out, e.g. a spent quota. */
  readonly error: ReportedError | undefined;
}

/** A parameter that was not tested. */
export interface LeftOutParam {
  readonly stream: string;
  readonly param: string;
}

export interface DiscoveredStream {
  readonly stream: string;
  /** The one slice that was sampled; empty for a stream that is read as a whole. */
  readonly slice: string;
  readonly status: 'sampled' | 'unavailable' | 'failed';
  readonly sample: SampleFacts | undefined;
  readonly fields: readonly DiscoveredField[];
  /** Fields that config excludes and records have. */
  readonly excluded: readonly string[];
  readonly keys: readonly KeyCandidate[];
  readonly cursors: readonly CursorCandidate[];
  readonly params: readonly ParamFinding[];
  readonly notes: readonly string[];
  readonly error: ReportedError | undefined;
}

/** What the findings are based on. */
export interface SampleFacts {
  /** Records in the sample, without those that are not JSON objects. */
  readonly records: number;
  readonly notObjects: number;
  /** Responses they came from. */
  readonly pages: number;
  /** Records the endpoint says it has, or sent in its one answer. */
  readonly total: number | undefined;
  /** The sample is everything there is. */
  readonly isWhole: boolean;
  /** Where the records are in the response; a pointer of '' is the response itself. */
  readonly place: { readonly pointer: string; readonly kind: 'array' | 'object' };
}

/** A field and the column it would become. Counts are of the sampled records. */
export interface DiscoveredField {
  /** Names from the record's root, with dots, as config takes them. */
  readonly field: string;
  /** The same, one by one; see `LearnedColumn.path`. */
  readonly path: readonly string[];
  readonly column: string;
  readonly type: ColumnType;
  /** Kinds of value seen, except null. */
  readonly seen: readonly string[];
  readonly filled: number;
  readonly nulls: number;
  readonly missing: number;
  /** Different values seen; `isLeast` when counting stopped there. */
  readonly distinct: number;
  readonly isLeast: boolean;
  /** JSON texts of some values, cut; empty if not wanted or hashed. */
  readonly examples: readonly string[];
  readonly isHashed: boolean;
}

/** Fields that may be a key, and how many of the sampled rows they distinguish. */
export interface KeyCandidate {
  readonly fields: readonly string[];
  readonly distinct: number;
  readonly rows: number;
  readonly holds: boolean;
}

/** A field that rows may be dated by, best first. */
export interface CursorCandidate {
  readonly field: string;
  readonly type: ColumnType;
  /** Range in the sample, ISO; undefined if values must not be shown. */
  readonly oldest: string | undefined;
  readonly newest: string | undefined;
  readonly order: 'ascending' | 'descending' | 'mixed' | 'equal';
}

/** What an endpoint does with a query parameter. */
export interface ParamFinding {
  readonly param: string;
  readonly verdict: 'honoured' | 'ignored' | 'refused' | 'undecided';
  /** What was requested and what was returned, one sentence each. */
  readonly evidence: readonly string[];
  /** Field that a start date was compared with. */
  readonly field?: string | undefined;
}

/** What happened to a contract file under `--write`. */
export interface ContractFile {
  readonly stream: string;
  readonly path: string;
  readonly state: 'written' | 'replaced' | 'unchanged' | 'kept';
  /** How the file on disk differs from what was found. */
  readonly differences: readonly string[];
}

/** A kept file says something else, or is none that Sluice can read. */
export function saysWhatWasFound({ state }: Pick<ContractFile, 'state'>): boolean {
  return state !== 'kept';
}
