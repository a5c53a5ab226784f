import { findExcess } from '../json/find-excess.ts';
import { buildRecords, MAX_DEPTH, type RecordBatch } from '../json/page-records.ts';
import { resolvePointer, splitPointer } from '../json/pointer.ts';
import { scanPage } from '../json/scan-page.ts';
import { slicePath } from '../json/slice-records.ts';
import type { ApiResponse } from '../model/http.ts';
import type { Page } from '../model/page.ts';
import type { PagingDescription } from '../model/paging.ts';
import { describeValue, EnvelopeError } from '../orders/envelope.ts';
import { orderOf } from '../orders/orders.ts';
import type { Envelope, PageAnswer } from '../orders/page-order.ts';
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
 * Decodes and parses a body. Throws ResponseError `page_unreadable` when it is not JSON: cut, empty, HTML,
 * binary, not UTF-8. Asking again may help, so the client treats it as a temporary error. The error quotes the
 * body, except for a stream whose fields are excluded or hashed.
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
    // The parser's message quotes the text as well.
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
    const { morePointer } = orderOf(paging);
    const beside = morePointer === undefined ? '' : ` and ${morePointer} next to them`;
    const expected =
      pointer === '' ? 'an array of records' : `an object with the records under ${pointer}${beside}`;
    throw invalid(response, `expected ${expected}, got ${describeValue(value)}`);
  }
  const offset = response.request.offset ?? 0;
  const batch = readRecords(records);
  const envelope = readEnvelope(response, paging, { value, offset, count: batch.records.length });
  return { ...batch, ...envelope, serverDateMs: response.serverDateMs, offset };
}

function readEnvelope(
  response: ApiResponse,
  paging: PagingDescription,
  read: Pick<PageAnswer, 'value' | 'offset' | 'count'>,
): Envelope {
  const { request, headers } = response;
  try {
    return orderOf(paging).read({ ...read, url: request.url, headers });
  } catch (error) {
    throw error instanceof EnvelopeError ? invalid(response, error.message) : error;
  }
}

/** A body as a document, whose records may still be bytes. */
interface OpenedBody {
  readonly value: unknown;
  /** Reads the records; `found` is what `value` has in their place. */
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
