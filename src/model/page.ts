/** One record as received, with its parsed value. */
export interface PageRecord {
  /** The record's own text, one line. */
  readonly text: string;
  /** Parsed; numbers a double would change are ExactNumber values. */
  readonly value: unknown;
  /** True when `text` has to be parsed exactly again, should it be read back. */
  readonly exact: boolean;
  /** True when the engine's own reader is known to read the same values, and the same JSON, out of `text`. */
  readonly plain?: boolean;
  /** `text` as bytes, if it was never converted to a string. */
  readonly bytes?: RecordBytes | undefined;
  /** The content of `value`, if it was never parsed. */
  readonly members?: SeenMembers | undefined;
}

/** A record's place in the bytes of its page. */
export interface RecordBytes {
  readonly source: Buffer;
  readonly start: number;
  readonly end: number;
}

/** The members of a record as they were found in the bytes of its page, nested ones included. */
export interface SeenMembers {
  readonly page: SeenPage;
  /** Where the record's own begin and end in `page.seen`. */
  readonly from: number;
  readonly to: number;
}

/** What was found in the bytes of a page. */
export interface SeenPage {
  readonly source: Buffer;
  /** Names of members by their number; the pages before and after may have the same array, which only grows. */
  readonly names: readonly SeenName[];
  /**
   * Three numbers for each member of each record: what it is, as `packSeen` writes it, and the bytes at which its
   * value begins and ends. Members of objects right in an array follow that array; arrays in these have none.
   */
  readonly seen: Int32Array;
}

/** The name of a member; `parent` is that of the object it is in, and undefined for the record itself. */
export interface SeenName {
  readonly id: number;
  readonly parent: SeenName | undefined;
  readonly name: string;
  /** Stands for the elements of the array with this `id`: parent of the members of those that are objects. */
  readonly isElement: boolean;
}

/** Whether a member is in an object that is in an array. */
export function isInElement({ parent }: SeenName): boolean {
  return parent !== undefined && (parent.isElement || isInElement(parent));
}

/** Numbers that each member takes in `SeenPage.seen`. */
export const SEEN_SIZE = 3;

/** Most names of a page, and most members of an object, that `packSeen` has room for. */
export const MOST_SEEN_NAMES = 4_096;

/** Number of a member's name, its place in its object, and its `SeenKind`, as one number. */
export function packSeen(id: number, position: number, kind: number): number {
  return (id << 16) | (position << 4) | kind;
}

/** What a member's value is, as far as its bytes tell. */
export const SeenKind = {
  null: 0,
  boolean: 1,
  /** A whole number that a double holds. */
  integer: 2,
  /** A number that is certainly not whole. */
  fraction: 3,
  /** A number that has to be parsed to know. */
  number: 4,
  /** A text of ASCII characters without an escape. */
  string: 5,
  /** A text with other characters. */
  wide: 6,
  /** A text with escapes. */
  escaped: 7,
  /** An array without an object right in it. */
  array: 8,
  object: 9,
  /** An array of objects, and of nulls perhaps. */
  objects: 10,
  /** An array of objects and other values. */
  mixed: 11,
  /** A number that is kept as text: a double would round it, or its neighbours. */
  exact: 12,
} as const;

/** One response of the API, read and checked against the envelope's contract. */
export interface Page {
  /** Offset asked for: the position of the first record in its scan. */
  readonly offset: number;
  readonly records: readonly PageRecord[];
  /** Declared number of records of the query; undefined when the API does not say. */
  readonly total: number | undefined;
  readonly hasMore: boolean | undefined;
  /** Names the next page if pages are requested by cursor; undefined on the last one. */
  readonly next?: string | undefined;
  /** Records that wrote a member name twice; the last one counts. */
  readonly duplicateMembers: number;
  readonly serverDateMs: number | undefined;
  /** Fields of config's `exclude` and `hash` rules that were found in the records. */
  readonly masked?: ReadonlySet<string>;
}
