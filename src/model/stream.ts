import type { PartitionRule } from './lake.ts';
import type { ColumnRule, ColumnType, Contract, DecimalsMode, JsonType } from './schema.ts';

export type ParamValue = string | number | boolean;

/** What a user or the connector said about a stream's key; `auto` means: learn and prove it. */
export type KeyRule =
  { readonly kind: 'auto' } | { readonly kind: 'fields'; readonly fields: readonly string[] };

/** What is known about a stream's cursor before the data is seen. */
export type CursorRule =
  | { readonly kind: 'auto'; readonly param: string }
  | { readonly kind: 'off' }
  | { readonly kind: 'field'; readonly field: string; readonly param: string };

/** A rule for a cursor as a text that is equal for equal rules. */
export function nameCursorRule(rule: CursorRule): string {
  if (rule.kind === 'off') return 'off';
  return JSON.stringify(
    rule.kind === 'auto' ? { param: rule.param } : { param: rule.param, field: rule.field },
  );
}

export type WriteMode = 'merge' | 'replace' | 'append';

/** What happens to rows that a trusted scan no longer finds. */
export type DeletesPolicy = 'keep' | 'soft' | 'hard';

/** One scan of a stream whose parameters are lists under `sliceBy`: one value of each. */
export interface StreamSlice {
  /** `entity=acme`, or `entity=acme&region=eu`: names the slice in checkpoints, reports and `_slice`. */
  readonly id: string;
  /** The values that become columns if they are missing from the records. */
  readonly values: Readonly<Record<string, ParamValue>>;
  readonly params: Stream['params'];
  readonly fingerprint: string;
}

/** A stream as one run sees it: the connector's description with the user's config laid over it. */
export interface Stream {
  readonly name: string;
  /** Table in schema `main`. */
  readonly table: string;
  readonly path: string;
  readonly paginated: boolean;
  /** JSON pointer to the records of an unpaginated response; undefined means: find them. */
  readonly recordsPointer: string | undefined;
  readonly params: Readonly<Record<string, ParamValue | readonly ParamValue[]>>;
  readonly pageSize: number;
  readonly key: KeyRule;
  readonly cursor: CursorRule;
  readonly write: WriteMode;
  readonly lookbackMs: number;
  readonly freshnessMs: number;
  readonly fullRefreshEveryMs: number;
  /** Scans the stream is made of; empty for one that is read as a whole. */
  readonly slices: readonly StreamSlice[];
  /** The slice this value represents, once the stream was split (see `sliceStream`). */
  readonly slice: StreamSlice | undefined;
  readonly contract: Contract;
  /** Rules by field path with dots, as config names them. */
  readonly columns: Readonly<Record<string, ColumnRule>>;
  readonly deletes: DeletesPolicy;
  /** Largest share of a table's (or slice's) rows that one scan may delete. */
  readonly maxDeleteRatio: number;
  /** Largest share of a scan's records that may go to quarantine. */
  readonly maxInvalidRatio: number;
  readonly history: boolean;
  /** Numbers with decimals: doubles where these hold them as written, or always decimals. */
  readonly decimals: DecimalsMode;
  /** Folders of the stream's lake; undefined means: by the day of its cursor. */
  readonly partitionBy: readonly PartitionRule[] | undefined;
  /** End after one request if head, total and day show that nothing changed. */
  readonly skipUnchanged: boolean;
  /** Ask after each incremental scan how many rows the API has in all. */
  readonly audit: boolean;
  /**
   * Changes with the settings for records and rows: contract, deletes, history. Invalidates freshness, not
   * staged pages. Undefined if contract files were not read.
   */
  readonly rules: string | undefined;
  /** Whether the user's config names this stream; an unnamed built-in one may be absent from the API. */
  readonly named: boolean;
  /** Changes with the config for its requests or its table; invalidates freshness and staged pages. */
  readonly fingerprint: string;
}

/** The streams a sync scans one by one: the stream itself, or one for each of its slices. */
export function sliceStream(stream: Stream): readonly Stream[] {
  if (stream.slices.length === 0) return [stream];
  return stream.slices.map((slice) => ({
    ...stream,
    slice,
    params: slice.params,
    fingerprint: slice.fingerprint,
  }));
}

/** Name of a stream's slice in checkpoints and reports; empty for a stream that is read as a whole. */
export function sliceIdOf(stream: Stream): string {
  return stream.slice?.id ?? '';
}

/** A stream with its slice, for messages: `visibility_mentions (entity=acme)`. */
export function nameOf(stream: Stream): string {
  return nameScan(stream.name, sliceIdOf(stream));
}

/** The same for a separate stream and slice, as in reports. */
export function nameScan(stream: string, slice: string): string {
  return slice === '' ? stream : `${stream} (${slice})`;
}

/** Whether a name of `nameScan` is that of a stream, or of one of its slices. */
export function isScanOf(name: string, stream: string): boolean {
  return name === stream || name.startsWith(`${stream} (`);
}

/** The head of the last verified scan, to compare with the next one's (`skipUnchanged`). */
export interface ScanHead {
  /** Hash of what was requested. */
  readonly question: string;
  /** Hash of the first page's records. */
  readonly page: string;
  readonly total: number | undefined;
  /** The server's date (UTC) when the scan began, ISO. */
  readonly day: string;
}

/** What the API and the table counted when they were last compared, for a stream or a slice of one. */
export interface CountedRows {
  /** ISO time. */
  readonly at: string;
  /** Rows the API counts without a start date; undefined if it declares no total. */
  readonly inApi: number | undefined;
  /** Live rows of the table. */
  readonly inTable: number;
  /** Of these, rows that the API is known to have dropped, except `suspected`: `deletes` keeps them. */
  readonly kept: number;
  /** Rows of the days read last that were not returned. */
  readonly suspected: number;
  /** The same by their day (ISO): what leaves the days that are read was counted as gone. */
  readonly suspectedOn?: Readonly<Record<string, number>> | undefined;
  /** What is known of the rows that the API lets go of at its oldest end. */
  readonly oldest?: OldestRows | undefined;
  /** Records of the API that are in no row of their own: in quarantine, or with the key of another. */
  readonly unloaded: number;
  /** Of these, the quarantined ones: the source still has them, and they are not versions of rows. */
  readonly quarantined: number;
  /**
   * Rows of the API that are missing from the table; negative: rows of the table that the API does not have.
   * 0 if both agree.
   */
  readonly difference: number;
  /** When a full refresh was last brought forward, ISO time. */
  readonly broughtForwardAt?: string | undefined;
  /** ISO time of the last scan, if its count failed or was left out, though config asks for it: the numbers are older. */
  readonly uncountedAt?: string | undefined;
}

/** Rows of `CountedRows.kept` that are gone at the oldest end, and elsewhere. */
export interface OldestRows {
  /** The oldest day that the last full scan brought, ISO: rows of the table before it were gone then. */
  readonly date: string;
  /** Rows from that day on that left the API since, the oldest first. */
  readonly left: number;
  /** Rows from that day on that are gone in between others. */
  readonly inside: number;
}

/** What earlier runs learned and reached for one stream; `undefined` before the first committed scan. */
export interface Checkpoint {
  readonly stream: string;
  readonly slice: string;
  readonly fingerprint: string;
  /** Cursor column's source field, and whether the API was seen to honour its parameter. */
  readonly cursorField: string | undefined;
  readonly cursorState: 'candidate' | 'proved' | 'refuted' | undefined;
  /** ISO date the next incremental run counts its lookback from. */
  readonly watermark: string | undefined;
  readonly keyFields: readonly string[] | undefined;
  readonly keyOrigin: 'config' | 'learned' | undefined;
  /** Distinct server days on which a full scan proved the key. */
  readonly keyProvedOn: readonly string[];
  /** ISO times at which the last scans of each kind began. */
  readonly lastFullScanAt: string | undefined;
  readonly lastVerifiedAt: string | undefined;
  readonly lastVerdict: string | undefined;
  readonly rowsDeclared: number | undefined;
  readonly head: ScanHead | undefined;
  /** `Stream.rules` of the last scan that applied them. */
  readonly rules: string | undefined;
  /** Why the next full refresh should not wait for `fullRefreshEvery`; undefined if it may. */
  readonly fullRefreshDue?: string | undefined;
  /** ISO time at which the last full scan began that was `verified`. */
  readonly wholeAt?: string | undefined;
  /** ISO date from which the last `verified` incremental scan since then read. */
  readonly provedFrom?: string | undefined;
  readonly counts?: CountedRows | undefined;
  readonly runId: string;
}

/** A learned column: where its value comes from and how it is stored. */
export interface LearnedColumn {
  /** Path of field names from the record's root, e.g. `["meta","model"]`. */
  readonly path: readonly string[];
  readonly name: string;
  readonly type: ColumnType;
  /** Run whose full scan was the first in which no record had the field; undefined while records have it. */
  readonly absentSince?: string | undefined;
  /** JSON types its field's values have had; undefined if not remembered yet. */
  readonly jsonTypes?: readonly JsonType[] | undefined;
}

/** Days on which a learned key must hold before it is trusted. */
export const KEY_PROOF_DAYS = 2;

/** Whether a 404 may mean that the API never had this stream: if it was read before, it is gone. */
export function mayBeUnavailable({ named }: Stream, checkpoint: Checkpoint | undefined): boolean {
  return !named && checkpoint === undefined;
}
