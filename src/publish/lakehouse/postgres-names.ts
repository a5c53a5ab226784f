/** Columns that every table of Postgres has. */
export const SYSTEM_COLUMNS: readonly string[] = ['ctid', 'xmin', 'xmax', 'cmin', 'cmax', 'tableoid'];

/** Longer names are cut without a word, and two may become one. */
export const MOST_NAME_BYTES = 63;
