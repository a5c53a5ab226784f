import type { QueryResult } from './reports.ts';

/**
 * Takes the rows of a query in portions as they are read, so that nobody holds all of them. The next portion is read
 * once it resolves; false if it wants no more. It gets at least one portion, which has no rows if the result has none.
 */
export type TakeRows = (portion: QueryResult) => Promise<boolean>;
