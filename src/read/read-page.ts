import { findExcess } from '../json/find-excess.ts';
import { buildRecords, MAX_DEPTH, type RecordBatch } from '../json/page-records.ts';
import { splitPointer } from '../json/pointer.ts';
import { scanPage } from '../json/scan-page.ts';
import { slicePath } from '../json/slice-records.ts';
import type { PagingDescription } from '../model/connector.ts';
import type { ApiResponse } from '../model/http.ts';
import type { Page } from '../model/page.ts';
import { escapeForTerminal } from '../text/redact.ts';
import type { Stream } from '../model/stream.ts';
import {
  heldError,
  invalid,
  MOST_RECORD_BYTES,
  tooDeep,
  tooLarge,
  tooMuch,
  unreadable,
} from './answer-errors.ts';
import { isMasked } from '../schema/mask-records.ts';

/** A body that is JSON: its text (for slices) and its value. */
export interface ParsedBody {
  readonly text: string;
  readonly value: unknown;
}

/**
 * Decodes and parses a body. Throws ResponseError `page_unreadable` when it is not JSON document: cut, empty, HTML,
 * binary, not UTF-8. Asking again may help, so the client treats it as a passing fault. The error quotes the body,
 * but for a stream whose fields are excluded or hashed.
 */
export function parseBody(response: ApiResponse, stream?: Stream): ParsedBody {
  const { body } = response;
  if (body.length === 0) throw unreadable(response, 'the body is empty');
  let text;
  try {
    // A fatal decoder: replacing bad bytes with U+FFFD would silently change data. A BOM is dropped.
    text = new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw unreadable(response, 'the body is not UTF-8 text');
  }
  const excess = findExcess(text);
  if (excess !== undefined) throw tooMuch(response, 'the body', excess);
  try {
    return { text, value: JSON.parse(text) };
  } catch (error) {
    if (stream !== undefined && isMasked(stream)) throw unreadable(response, 'the body is not JSON');
    // The parser's own words quote the text as well.
    const reason = escapeForTerminal((error as Error).message.slice(0, 120));
    const start = escapeForTerminal(text.slice(0, 200));
    throw unreadable(response, `the body is not JSON (${reason}); it starts: ${start}`);
  }
}

/** Reads one page of a paginated endpoint; throws ResponseError when the envelope is not as documented. */
export function readPage(stream: Stream, response: ApiResponse, paging: PagingDescription): Page {
  const pointer = stream.recordsPointer ?? paging.records;
  const { value, readRecords } = openBody(stream, response, pointer);
  const records = resolvePointer(value, pointer);
  assertNoError(response, value, Array.isArray(records) && records.length > 0);
  if (!Array.isArray(records)) {
    const beside = paging.kind === 'offset' ? paging.total : paging.next;
    throw invalid(
      response,
      `expected an object with the records under ${pointer} and ${beside} next to them, got ${describe(value)}`,
    );
  }
  const offset = response.request.offset ?? 0;
  if (paging.kind === 'cursor') {
    const total = paging.total === undefined ? undefined : readCount(response, value, paging.total);
    const next = readNext(response, value, paging.next);
    return {
      ...readRecords(records),
      serverDateMs: response.serverDateMs,
      offset,
      total,
      hasMore: next !== undefined,
      next,
    };
  }
  const echoed = readCount(response, value, paging.offset);
  if (echoed !== undefined && echoed !== offset) {
    throw invalid(response, `asked for offset ${offset}, the answer is for offset ${echoed}`);
  }
  const total = readCount(response, value, paging.total);
  const hasMore = readHasMore(response, value, paging.hasMore, total);
  return { ...readRecords(records), serverDateMs: response.serverDateMs, offset, total, hasMore };
}

/** A body as a document, whose records may still be bytes. */
interface OpenedBody {
  readonly value: unknown;
  /** Reads the records, given what `value` has in their place. */
  readonly readRecords: (found: readonly unknown[]) => RecordBatch;
}

function openBody(stream: Stream, response: ApiResponse, pointer: string): OpenedBody {
  const refuse = (at: number, depth: number) => tooDeep(response, at, depth, MAX_DEPTH);
  // What is masked is edited as text.
  const scanned = isMasked(stream) ? undefined : scanPage(response.body, splitPointer(pointer), refuse);
  if (scanned !== undefined) return { value: scanned.value, readRecords: () => scanned };
  const { text, value } = parseBody(response, stream);
  return { value, readRecords: (found) => sliceRecords(response, text, pointer, found) };
}

function sliceRecords(
  response: ApiResponse,
  text: string,
  pointer: string,
  found: readonly unknown[],
): RecordBatch {
  const slices = slicePath(text, splitPointer(pointer)) ?? [];
  // A body within the record limit has no record beyond it.
  if (response.body.length > MOST_RECORD_BYTES) {
    const large = slices.findIndex((slice) => Buffer.byteLength(slice.text) > MOST_RECORD_BYTES);
    if (large >= 0) throw tooLarge(response, large);
  }
  return buildRecords(slices, found, (at, depth) => tooDeep(response, at, depth, MAX_DEPTH));
}

// An error envelope with status 200 must never pass for an answer without records.
function assertNoError(response: ApiResponse, value: unknown, hasRecords: boolean): void {
  const error = resolvePointer(value, '/error');
  if (typeof error === 'object' && error !== null && ('code' in error || 'message' in error)) {
    const { code, message } = error as { code?: unknown; message?: unknown };
    throw heldError(response, code, message);
  }
  // With records these members are data; without records they are the error.
  if (hasRecords) return;
  if (typeof error === 'string' && error !== '') throw heldError(response, undefined, error);
  const errors = resolvePointer(value, '/errors');
  if (!Array.isArray(errors) || errors.length === 0) return;
  throw heldError(response, resolvePointer(errors, '/0/code'), resolvePointer(errors, '/0/message'));
}

function readCount(response: ApiResponse, value: unknown, pointer: string): number | undefined {
  const count = resolvePointer(value, pointer);
  if (count === undefined || count === null) return undefined;
  if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 0) return count;
  throw invalid(response, `${pointer} should be a whole number, got ${describe(count)}`);
}

function readNext(response: ApiResponse, value: unknown, pointer: string): string | undefined {
  const next = resolvePointer(value, pointer);
  if (next === undefined || next === null || next === '') return undefined;
  if (typeof next === 'string' || (typeof next === 'number' && Number.isSafeInteger(next)))
    return String(next);
  throw invalid(response, `${pointer} should name the next page, got ${describe(next)}`);
}

function readHasMore(
  response: ApiResponse,
  value: unknown,
  pointer: string,
  total: number | undefined,
): boolean | undefined {
  const hasMore = resolvePointer(value, pointer);
  if (typeof hasMore === 'boolean') return hasMore;
  // The flag is only needed without a total: something must show where the data ends.
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
