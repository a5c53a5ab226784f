import { RawJson, readFields, writeJson } from './raw-json.ts';

/** The records of a day: an array, or anything with a length that makes its records when asked. */
export interface RecordList {
  readonly length: number;
  at(index: number): unknown;
}

/** What one path serves. */
export interface EndpointOptions {
  readonly paginated: boolean;
  /** The records of a day, in the order they are paged; must depend on the day alone. */
  readonly records: (day: string) => RecordList;
  /** Field that `startDate` is compared with; without one `startDate` is ignored. */
  readonly dateField?: string;
  /** 100 when left out. */
  readonly maxLimit?: number;
  /** 50 when left out. */
  readonly defaultLimit?: number;
  /** Query parameters without which the answer is 400. */
  readonly requiredParams?: readonly string[];
  /** The topics that exist; any other in `topicIds` is answered 404. All exist when left out. */
  readonly topicIds?: readonly string[];
  /** Filter parameters of its own, each with the fields it is compared with, besides the documented ones. */
  readonly filters?: Readonly<Record<string, readonly string[]>>;
  /** Where the records of an unpaginated answer are; `data` when left out. */
  readonly shape?: DatasetShape;
}

/** Under `data`, as the whole document, under another member, or the first record as the document itself. */
export type DatasetShape = 'data' | 'array' | 'object' | { readonly member: string };

/** Changes an endpoint's records, on top of what its day gives. */
export type RecordEdit = (records: readonly unknown[]) => readonly unknown[];

/** Narrows records; equal names must mean equal filters, because results are kept by name. */
export interface RecordFilter {
  readonly name: string;
  accepts(fields: Readonly<Record<string, unknown>>): boolean;
}

/** Some records as JSON text, and how many match the filter in all. */
export interface RecordSlice {
  readonly texts: readonly string[];
  readonly total: number;
}

/** An endpoint's records, serialised once a day and not once a request. */
export interface RecordTable {
  slice(day: string, filter: RecordFilter | undefined, offset: number, limit: number): RecordSlice;
  /** All matching records as one JSON array. */
  array(day: string, filter: RecordFilter | undefined): string;
  count(day: string): number;
  /** Changes the records from now on, on every day. */
  edit(edit: RecordEdit): void;
}

interface DayCache {
  readonly day: string;
  readonly list: RecordList;
  readonly texts: (string | undefined)[];
  readonly matches: Map<string, readonly number[]>;
  readonly arrays: Map<string, string>;
}

const MAX_KEPT_FILTERS = 64;

/** Makes the table of one endpoint; it keeps the day it was asked for last. `mark` changes each record, edited ones too. */
export function createRecordTable(
  records: EndpointOptions['records'],
  mark?: (record: unknown) => unknown,
): RecordTable {
  const edits: RecordEdit[] = [];
  let cache: DayCache | undefined;

  function open(day: string): DayCache {
    if (cache?.day !== day) {
      const edited = edits.reduce<RecordList>((made, edit) => edit(toArray(made)), records(day));
      const list = mark === undefined ? edited : markAll(edited, mark);
      cache = { day, list, texts: [], matches: new Map(), arrays: new Map() };
    }
    return cache;
  }

  function slice(day: string, filter: RecordFilter | undefined, offset: number, limit: number): RecordSlice {
    const opened = open(day);
    const matches = filter && findMatches(opened, filter);
    const total = matches?.length ?? opened.list.length;
    const texts: string[] = [];
    for (let i = offset; i < Math.min(total, offset + limit); i++) {
      texts.push(readText(opened, matches?.[i] ?? i));
    }
    return { texts, total };
  }

  return {
    slice,
    array(day, filter) {
      const write = () => `[${slice(day, filter, 0, Infinity).texts.join(',')}]`;
      return keep(open(day).arrays, filter?.name ?? '', write);
    },
    count: (day) => open(day).list.length,
    edit(edit) {
      edits.push(edit);
      cache = undefined;
    },
  };
}

function findMatches(cache: DayCache, filter: RecordFilter): readonly number[] {
  return keep(cache.matches, filter.name, () => {
    const found: number[] = [];
    for (let i = 0; i < cache.list.length; i++) {
      if (filter.accepts(readFields(cache.list.at(i)))) found.push(i);
    }
    return found;
  });
}

function readText(cache: DayCache, index: number): string {
  const kept = cache.texts[index];
  if (kept !== undefined) return kept;
  const record = cache.list.at(index);
  const text = record instanceof RawJson ? record.text : writeJson(record);
  // A list that makes its records is there to save memory: its texts are not kept either.
  if (Array.isArray(cache.list)) cache.texts[index] = text;
  return text;
}

function keep<T>(kept: Map<string, T>, name: string, make: () => T): T {
  const found = kept.get(name);
  if (found !== undefined) return found;
  if (kept.size >= MAX_KEPT_FILTERS) kept.clear();
  const made = make();
  kept.set(name, made);
  return made;
}

function markAll(list: RecordList, mark: (record: unknown) => unknown): RecordList {
  if (Array.isArray(list)) return list.map(mark);
  return { length: list.length, at: (index) => mark(list.at(index)) };
}

function toArray(list: RecordList): readonly unknown[] {
  return Array.isArray(list) ? list : Array.from({ length: list.length }, (_, index) => list.at(index));
}
