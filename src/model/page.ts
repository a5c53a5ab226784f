/** One record as received, beside its parsed value. */
export interface PageRecord {
  /** The record's own text, one line. */
  readonly text: string;
  /** Parsed; numbers a double would change are ExactNumber values. */
  readonly value: unknown;
  /** True when `text` has to be parsed exactly again, should it be read back. */
  readonly exact: boolean;
  /** True when the engine's own reader is known to read the same values, and the same JSON, out of `text`. */
  readonly plain?: boolean;
}

/** One answer of the API, read and checked against the envelope's contract. */
export interface Page {
  /** Offset asked for: the position of the first record in its scan. */
  readonly offset: number;
  readonly records: readonly PageRecord[];
  /** Declared number of records of the query; undefined when the API does not say. */
  readonly total: number | undefined;
  readonly hasMore: boolean | undefined;
  /** Names the next page where pages are asked for by cursor; undefined on the last one. */
  readonly next?: string | undefined;
  /** Records that wrote a member name twice; the last one counts. */
  readonly duplicateMembers: number;
  readonly serverDateMs: number | undefined;
  /** Fields of config's `exclude` and `hash` rules that were found in the records. */
  readonly masked?: ReadonlySet<string>;
}
