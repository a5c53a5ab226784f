/** Columns that protocols add to a record, and those that their programs make of it, begin like this. */
const RESERVED = /^_(?:sdc|ab_cdc)_/i;

/**
 * The name under which a column of the data is sent. All names that begin like a protocol's own get the same ending, so that
 * no two of them become one, and a column has the same name in every read, whatever other columns there are.
 */
export function nameSent(column: string): string {
  return RESERVED.test(column) ? `${column}__api` : column;
}
