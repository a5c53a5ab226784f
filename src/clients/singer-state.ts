import type { ChangePosition } from '../model/client-stream.ts';
import { isObject, readPosition } from './delivery-position.ts';

/** Where a target is in a stream. */
export interface Bookmark extends ChangePosition {
  /** The version of the whole table that its rows belong to: older ones are removed when all rows were sent. */
  readonly table_version: number;
}

/** Reads the bookmarks of a state; others are ignored, so that their streams are sent again. */
export function parseSingerState(value: unknown): ReadonlyMap<string, Bookmark> {
  const state = isObject(value) && isObject(value['value']) ? value['value'] : value;
  const bookmarks = isObject(state) && isObject(state['bookmarks']) ? state['bookmarks'] : {};
  const read = new Map<string, Bookmark>();
  for (const [name, bookmark] of Object.entries(bookmarks)) {
    const position = readPosition(bookmark);
    const tableVersion = Number(isObject(bookmark) ? bookmark['table_version'] : Number.NaN);
    if (position !== undefined && Number.isSafeInteger(tableVersion))
      read.set(name, { ...position, table_version: tableVersion });
  }
  return read;
}
