/** Formats of `query --format`. */
export const queryFormats = ['table', 'csv', 'json', 'ndjson', 'markdown'] as const;
export type QueryFormat = (typeof queryFormats)[number];
