import type { ValuePlace } from '../json/document-outline.ts';
import { splitPointer } from '../json/pointer.ts';
import { escapeForTerminal } from '../text/redact.ts';
import { formatCount, formatCountOf } from '../text/format-count.ts';

/** What APIs call the number of all records, in many spellings (Django, Spring, Laravel, OData, JSON:API and others). */
const TOTALS = spell(
  ['total', 'count', ...join('total', ['count', 'items', 'records', 'results', 'rows', 'elements', 'hits'])],
  ['@odata.count'],
);
const PAGES = spell(['pages', 'total pages', 'page count', 'last page'], []);
const FLAGS = spell(['more', 'has more', 'has next', 'has next page'], []);
const NEXT = spell(
  ['next', ...join('next', ['page', 'url', 'link', 'cursor', 'token', 'offset', 'page token'])],
  ['@odata.nextLink'],
);
/** Members of an answer that describe its pages. */
const CONTAINERS = [
  'meta',
  '_meta',
  'pagination',
  'paging',
  'page',
  'pageInfo',
  'page_info',
  'info',
  'links',
  '_links',
];

/**
 * Paths of an answer's members that may say that it is one page of several.
 *
 * @param records JSON pointer to its records, as the config names it
 */
export function listRestPaths(records: string | undefined): readonly (readonly string[])[] {
  return listContainers(records).flatMap((container) =>
    [...TOTALS, ...PAGES, ...FLAGS, ...NEXT].map((name) => [...container, name]),
  );
}

/**
 * What in an answer says that it does not have all records, e.g. `meta.total is 250`; undefined if nothing does.
 *
 * @param records where the records are, and how many
 */
export function findAnnouncedRest(
  at: (path: readonly string[]) => ValuePlace | undefined,
  records: { readonly pointer: string; readonly count: number },
): string | undefined {
  for (const container of listContainers(records.pointer)) {
    const find = (names: readonly string[], says: (place: ValuePlace) => boolean) =>
      names.find((name) => {
        const place = at([...container, name]);
        return place !== undefined && says(place);
      });
    const found =
      find(TOTALS, (place) => readWhole(place) > records.count) ??
      find(PAGES, (place) => readWhole(place) > 1) ??
      find(FLAGS, ({ kind }) => kind === 'true') ??
      find(NEXT, isFilled);
    if (found === undefined) continue;
    const { kind, text } = at([...container, found]) ?? {};
    const name = escapeForTerminal([...container, found].join('.'));
    return `the answer has ${formatCountOf(records.count, 'record')}, and says that there are more (${name} is ${kind === 'true' ? kind : kind === 'number' ? describe(text) : 'not empty'})`;
  }
  return undefined;
}

function listContainers(records: string | undefined): readonly (readonly string[])[] {
  const parent = records === undefined ? [] : splitPointer(records).slice(0, -1);
  const near = parent.length === 0 ? [] : [parent, ...CONTAINERS.map((name) => [...parent, name])];
  return [...near, [], ...CONTAINERS.map((name) => [name])];
}

function readWhole({ kind, text }: ValuePlace): number {
  const value = kind === 'number' ? Number(text) : Number.NaN;
  return Number.isSafeInteger(value) ? value : Number.NaN;
}

function describe(text: string | undefined): string {
  const value = Number(text);
  return Number.isSafeInteger(value) ? formatCount(value) : String(text);
}

/** A link, a cursor, a number of a page, or an object with one of them. */
function isFilled({ kind, text, count }: ValuePlace): boolean {
  if (kind === 'string') return text !== '""';
  if (kind === 'number') return Number(text) > 0;
  return kind === 'object' || (kind === 'array' && count > 0);
}

function join(first: string, others: readonly string[]): readonly string[] {
  return others.map((other) => `${first} ${other}`);
}

/** Each name as `total_count` and as `totalCount`. */
function spell(names: readonly string[], more: readonly string[]): readonly string[] {
  const spelled = names.flatMap((name) => [
    name.replaceAll(' ', '_'),
    name.replaceAll(/ (.)/g, (_, letter: string) => letter.toUpperCase()),
  ]);
  return [...new Set([...spelled, ...more])];
}
