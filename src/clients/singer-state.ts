import type { ChangePosition } from '../model/client-stream.ts';
import { isObject, readPosition } from './delivery-position.ts';

/** Where a target is in a stream. */
export interface Bookmark extends ChangePosition {
  /** The version of the whole table that its rows belong to: older ones are removed when all rows were sent. */
  readonly table_version: number;
}

/** What a target remembers of earlier runs. */
export interface SingerState {
  /** By name of the stream. */
  readonly bookmarks: ReadonlyMap<string, Bookmark>;
  /** Parts that were not understood: streams that are sent again for it. */
  readonly ignored: readonly string[];
}

/** Reads a state leniently: with or without its message. */
export function parseSingerState(value: unknown): SingerState {
  const state = isObject(value) && isObject(value['value']) ? value['value'] : (value ?? {});
  if (!isObject(state) || !isObject(state['bookmarks'] ?? {}) || isForeign(state))
    return { bookmarks: new Map(), ignored: ['the state'] };
  const bookmarks = new Map<string, Bookmark>();
  const ignored: string[] = [];
  for (const [name, bookmark] of Object.entries(state['bookmarks'] ?? {})) {
    const position = readPosition(bookmark);
    const tableVersion = Number(isObject(bookmark) ? bookmark['table_version'] : Number.NaN);
    if (position !== undefined && Number.isSafeInteger(tableVersion))
      bookmarks.set(name, { ...position, table_version: tableVersion });
    else ignored.push(`the state of ${name}`);
  }
  return { bookmarks, ignored };
}

/** Whether it has members, but not the one of every state: a catalog, for example. */
function isForeign(state: Readonly<Record<string, unknown>>): boolean {
  return state['bookmarks'] === undefined && Object.keys(state).length > 0;
}
