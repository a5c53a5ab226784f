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

/** Reads `country`, `year(date)`, `month(date)` or `day(ts)`; undefined for anything else. */
export function parsePartitionRule(text: string): PartitionRule | undefined {
  const [, transform, inner] = /^(year|month|day)\((.+)\)$/.exec(text.trim()) ?? [];
  const column = (inner ?? text).trim();
  if (column === '' || (inner === undefined && /[()]/.test(column))) return undefined;
  return { column, transform: (transform as PartitionTransform | undefined) ?? 'identity' };
}

/** The file with the views over a lake, in its folder. */
export const LAKE_CATALOG = 'lake.duckdb';
/** The file that says what is in a lake, in its folder. */
export const LAKE_MANIFEST = 'manifest.json';
