import { ExactNumber, parseExact } from '../json/exact-number.ts';
import { locateValue, sliceArray, sliceValue } from '../json/slice-records.ts';
import type { PagingDescription } from '../model/connector.ts';
import { ResponseError } from '../model/errors.ts';
import type { ApiResponse } from '../model/http.ts';
import type { Page, PageRecord } from '../model/page.ts';
import { escapeForTerminal } from '../model/redact.ts';
import type { Stream } from '../model/stream.ts';

/** Records nested deeper than this are refused: reading them back would need recursion without end. */
const MAX_DEPTH = 500;

/** A body that is JSON: its text (for slices) and its value. */
export interface ParsedBody {
  readonly text: string;
  readonly value: unknown;
}

/**
 * Decodes and parses a body. Throws ResponseError `page_unreadable` when it is no JSON document: cut,
 * empty, HTML, binary, not UTF-8. Asking again may help, so the client treats it as a passing fault.
 */
export function parseBody(response: ApiResponse): ParsedBody {
  const { body } = response;
  if (body.length === 0) throw unreadable(response, 'the body is empty');
  let text;
  try {
    // A fatal decoder: U+FFFD in place of bad bytes would be a silent change of data. A BOM is dropped.
    text = new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw unreadable(response, 'the body is not UTF-8 text');
  }
  try {
    return { text, value: JSON.parse(text) };
  } catch (error) {
    // The parser's own words quote the text as well.
    const reason = escapeForTerminal((error as Error).message.slice(0, 120));
    const start = escapeForTerminal(text.slice(0, 200));
    throw unreadable(response, `the body is not JSON (${reason}); it starts: ${start}`);
  }
}

/** Reads one page of a paginated endpoint; throws ResponseError when the envelope is not as documented. */
export function readPage(stream: Stream, response: ApiResponse, paging: PagingDescription): Page {
  const { text, value } = parseBody(response);
  assertNoErrorEnvelope(response, value);
  const pointer = stream.recordsPointer ?? paging.records;
  const records = resolvePointer(value, pointer);
  if (!Array.isArray(records)) {
    throw invalid(
      response,
      `expected an object with the records under ${pointer} and ${paging.total} beside them, got ${describe(value)}`,
    );
  }
  const offset = response.request.offset ?? 0;
  const echoed = readCount(response, value, paging.offset);
  if (echoed !== undefined && echoed !== offset) {
    throw invalid(response, `asked for offset ${offset}, the answer is for offset ${echoed}`);
  }
  const total = readCount(response, value, paging.total);
  const hasMore = readHasMore(response, value, paging.hasMore, total);
  return { ...readRecords(stream, response, text, pointer, records), offset, total, hasMore };
}

/**
 * Reads an unpaginated answer: the records are at the configured pointer, else in the array at the top,
 * under `data`, in the only array, or the object is the one record.
 */
export function readDocument(stream: Stream, response: ApiResponse, paging: PagingDescription): Page {
  const { text, value } = parseBody(response);
  assertNoErrorEnvelope(response, value);
  if (resolvePointer(value, paging.hasMore) === true) {
    throw invalid(
      response,
      'the endpoint pages its answer',
      `Add "paginated: true" to streams.${stream.name} in sluice.yaml.`,
    );
  }
  const pointer = stream.recordsPointer ?? findRecords(value);
  const found = resolvePointer(value, pointer);
  if (found === undefined || found === null || typeof found !== 'object') {
    throw invalid(
      response,
      `no records at ${pointer === '' ? 'the top' : pointer}; the answer is ${describe(value)}`,
      `Name where they are as streams.${stream.name}.records, e.g. /data.`,
    );
  }
  const page = readRecords(stream, response, text, pointer, found);
  return { ...page, offset: 0, total: page.records.length, hasMore: false };
}

function readRecords(
  stream: Stream,
  response: ApiResponse,
  text: string,
  pointer: string,
  found: object,
): Pick<Page, 'records' | 'duplicateMembers' | 'serverDateMs'> {
  const start = locateValue(text, 0, splitPointer(pointer)) ?? 0;
  const slices = Array.isArray(found) ? sliceArray(text, start) : [sliceValue(text, start)];
  const values: readonly unknown[] = Array.isArray(found) ? found : [found];
  let duplicateMembers = 0;
  const records = slices.map((slice, at): PageRecord => {
    if (slice.depth > MAX_DEPTH) {
      throw invalid(
        response,
        `record ${at} of ${stream.name} is nested ${slice.depth} levels deep; ${MAX_DEPTH} is the most`,
      );
    }
    const value = slice.hardNumbers ? parseExact(slice.text) : values[at];
    if (countMembers(value) < slice.members) duplicateMembers += 1;
    return { text: slice.text, value, exact: slice.hardNumbers };
  });
  return { records, duplicateMembers, serverDateMs: response.serverDateMs };
}

function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return 0;
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + countMembers(item), 0);
  let count = 0;
  for (const name of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[name];
    count += typeof member === 'object' ? 1 + countMembers(member) : 1;
  }
  return count;
}

function findRecords(value: unknown): string {
  if (Array.isArray(value)) return '';
  if (typeof value !== 'object' || value === null) return '';
  if (Array.isArray((value as { data?: unknown }).data)) return '/data';
  const arrays = Object.entries(value).filter(([, member]) => Array.isArray(member));
  const [only] = arrays;
  return arrays.length === 1 && only !== undefined ? `/${escapePointer(only[0])}` : '';
}

// An error envelope with status 200 must never pass for an answer without records.
function assertNoErrorEnvelope(response: ApiResponse, value: unknown): void {
  const error =
    typeof value === 'object' && value !== null && Object.hasOwn(value, 'error')
      ? (value as { error: unknown }).error
      : undefined;
  if (typeof error !== 'object' || error === null || !('code' in error || 'message' in error)) return;
  const { code, message } = error as { code?: unknown; message?: unknown };
  const told = [code, message]
    .filter((part) => typeof part === 'string')
    .map((part) => escapeForTerminal(part.slice(0, 500)));
  throw invalid(response, `the answer has status ${response.status} but holds an error: ${told.join(': ')}`);
}

function readCount(response: ApiResponse, value: unknown, pointer: string): number | undefined {
  const count = resolvePointer(value, pointer);
  if (count === undefined || count === null) return undefined;
  if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 0) return count;
  throw invalid(response, `${pointer} should be a whole number, got ${describe(count)}`);
}

function readHasMore(
  response: ApiResponse,
  value: unknown,
  pointer: string,
  total: number | undefined,
): boolean | undefined {
  const hasMore = resolvePointer(value, pointer);
  if (typeof hasMore === 'boolean') return hasMore;
  // With a total the flag is not needed; without both nothing says where the data ends.
  if (total !== undefined) return undefined;
  throw invalid(response, `neither ${pointer} (a boolean) nor the total says where the data ends`);
}

function resolvePointer(value: unknown, pointer: string): unknown {
  let current = value;
  for (const name of splitPointer(pointer)) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, name)) return undefined;
    current = (current as Record<string, unknown>)[name];
  }
  return current;
}

/** Member names of a JSON pointer (RFC 6901). */
function splitPointer(pointer: string): readonly string[] {
  return pointer === ''
    ? []
    : pointer
        .slice(1)
        .split('/')
        .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

function describe(value: unknown): string {
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (value === null) return 'null';
  if (typeof value === 'object')
    return `an object with ${
      Object.keys(value)
        .slice(0, 8)
        .map((key) => escapeForTerminal(key.slice(0, 40)))
        .join(', ') || 'no members'
    }`;
  return `${typeof value} ${escapeForTerminal(JSON.stringify(value).slice(0, 60))}`;
}

function unreadable(response: ApiResponse, problem: string): ResponseError {
  return failure(
    response,
    'page_unreadable',
    problem,
    'The table is as it was. If this lasts, check the base URL and ask the provider of the API.',
  );
}

function invalid(response: ApiResponse, problem: string, hint?: string): ResponseError {
  return failure(
    response,
    'response_invalid',
    problem,
    hint ??
      'The table is as it was. Check the path of the stream; if it is right, tell the provider of the API.',
  );
}

function failure(
  response: ApiResponse,
  code: 'page_unreadable' | 'response_invalid',
  problem: string,
  hint: string,
): ResponseError {
  const { stream, offset, url } = response.request;
  const type = response.headers['content-type'];
  const where = offset === undefined ? '' : ` at offset ${offset}`;
  const kind =
    code === 'page_unreadable' && typeof type === 'string'
      ? ` (content-type ${escapeForTerminal(type.slice(0, 80))})`
      : '';
  return new ResponseError(
    `${stream}${where} (${url.pathname}, status ${response.status}): ${problem}${kind}`,
    {
      code,
      hint,
      context: {
        stream,
        status: response.status,
        path: url.pathname,
        ...(offset === undefined ? {} : { offset }),
      },
    },
  );
}
