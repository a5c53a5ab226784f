import type { ColumnType } from './schema.ts';

export type ParamValue = string | number | boolean;

/** What a user or the connector said about a stream's key; `auto` means: learn and prove it. */
export type KeyRule =
  { readonly kind: 'auto' } | { readonly kind: 'fields'; readonly fields: readonly string[] };

/** What is known about a stream's cursor before the data is seen. */
export type CursorRule =
  | { readonly kind: 'auto'; readonly param: string }
  | { readonly kind: 'off' }
  | { readonly kind: 'field'; readonly field: string; readonly param: string };

export type WriteMode = 'merge' | 'replace' | 'append';

/** A stream as one run sees it: the connector's description with the user's config laid over it. */
export interface Stream {
  readonly name: string;
  /** Table in schema `main`. */
  readonly table: string;
  readonly path: string;
  readonly paginated: boolean;
  /** JSON pointer to the records of an unpaginated answer; undefined means: find them. */
  readonly recordsPointer: string | undefined;
  readonly params: Readonly<Record<string, ParamValue | readonly ParamValue[]>>;
  readonly pageSize: number;
  readonly key: KeyRule;
  readonly cursor: CursorRule;
  readonly write: WriteMode;
  readonly lookbackMs: number;
  readonly freshnessMs: number;
  readonly fullRefreshEveryMs: number;
  /** Whether the user's config names this stream; an unnamed built-in one may be absent from the API. */
  readonly named: boolean;
  /** Changes when the config that shapes its requests or its table changes; voids freshness and staged pages. */
  readonly fingerprint: string;
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
  readonly runId: string;
}

/** A learned column: where its value comes from and what it became. */
export interface LearnedColumn {
  /** Path of field names from the record's root, e.g. `["meta","model"]`. */
  readonly path: readonly string[];
  readonly name: string;
  readonly type: ColumnType;
}
