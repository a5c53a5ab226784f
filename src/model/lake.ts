/** One level of a lake's folders, as config writes it: `country`, `month(date)`. */
export interface PartitionRule {
  /** A column by its name, or by the path of its field. */
  readonly column: string;
  readonly transform: PartitionTransform;
}

export type PartitionTransform = 'identity' | 'year' | 'month' | 'day';

/** What a run put into a lake. */
export interface PublishedLake {
  /** Absolute path of the lake's folder. */
  readonly path: string;
  /** Tables that got a new generation. */
  readonly tables: number;
  /** Files written, and their size; those shared with the generation before do not count. */
  readonly files: number;
  readonly bytes: number;
}

/** The format of a partition rule; the editors' schema has the same pattern. */
export const PARTITION_TEXT = /^\s*(?:(year|month|day)\((.*\S.*)\)|([^()]*[^\s()][^()]*))\s*$/;

/** Reads `country`, `year(date)`, `month(date)` or `day(ts)`; undefined for anything else. */
export function parsePartitionRule(text: string): PartitionRule | undefined {
  const [match, transform, inner] = PARTITION_TEXT.exec(text) ?? [];
  if (match === undefined) return undefined;
  return {
    column: (inner ?? match).trim(),
    transform: (transform as PartitionTransform | undefined) ?? 'identity',
  };
}

/** The file with the views over a lake, in its folder. */
export const LAKE_CATALOG = 'lake.duckdb';
/** The file that says what is in a lake, in its folder. */
export const LAKE_MANIFEST = 'manifest.json';
