import { cutRecords } from '../json/cut-records.ts';
import { DocumentOutline, type ValuePlace } from '../json/document-outline.ts';
import { findExcess } from '../json/find-excess.ts';
import { JsonScanner } from '../json/json-scanner.ts';
import { MAX_DEPTH, readRecordRun, type RecordBatch } from '../json/page-records.ts';
import { joinPointer, splitPointer } from '../json/pointer.ts';
import type { PagingDescription } from '../model/paging.ts';
import { orderOf } from '../orders/orders.ts';
import type { PageOrder } from '../orders/page-order.ts';
import { escapeForTerminal } from '../text/redact.ts';
import { findAnnouncedRest, listRestPaths } from './announced-rest.ts';
import type { Stream } from '../model/stream.ts';
import {
  type AnswerHead,
  heldError,
  invalid,
  MOST_RECORD_BYTES,
  tooDeep,
  tooLarge,
  tooMuch,
  unreadable,
} from './answer-errors.ts';
import { isMasked } from '../schema/mask-records.ts';

const RECORDS_PER_BATCH = 1_000;
/** Most bytes of a foreign text that an error shows. */
const SHOWN_BYTES = 200;

/** Where the records of an unpaginated answer are: an array of them, or the one object that is a record. */
export interface RecordsPlace {
  readonly kind: 'array' | 'object';
  /** JSON pointer, `''` for the document itself. */
  readonly pointer: string;
  readonly start: number;
  /** Undefined until the response has got that far. */
  readonly end: number | undefined;
  /** Records seen. */
  readonly count: number;
  /** What in a whole answer says that it is one page of several; undefined if nothing does. */
  readonly rest?: string | undefined;
}

/**
 * Inspects an unpaginated response while it arrives, without keeping it: is it a JSON document, is it an error or a
 * page, and where are its records?
 */
export class DocumentReading {
  readonly #stream: Stream;
  readonly #order: PageOrder;
  /** Where the connector's pages count all records. */
  readonly #totalPath: readonly string[] | undefined;
  readonly #outline: DocumentOutline;
  readonly #scanner: JsonScanner;
  #head = Buffer.alloc(0);
  #isWhole = false;

  constructor(stream: Stream, paging: PagingDescription) {
    this.#stream = stream;
    this.#order = orderOf(paging);
    this.#totalPath = paging.total === undefined ? undefined : splitPointer(paging.total);
    const { recordsPointer } = stream;
    const { morePointer } = this.#order;
    this.#outline = new DocumentOutline([
      ...DATA_PATHS,
      ...listRestPaths(recordsPointer),
      ...(this.#totalPath === undefined ? [] : [this.#totalPath]),
      ...(morePointer === undefined ? [] : [splitPointer(morePointer)]),
      ...(recordsPointer === undefined ? [] : [splitPointer(recordsPointer)]),
    ]);
    this.#scanner = new JsonScanner(this.#outline);
  }

  /** False once the response cannot be a JSON document: the rest can be skipped. */
  push(chunk: Buffer): boolean {
    if (this.#head.length < SHOWN_BYTES)
      this.#head = Buffer.concat([this.#head, chunk.subarray(0, SHOWN_BYTES - this.#head.length)]);
    return this.#scanner.push(chunk);
  }

  /** Call after the last chunk. Throws ResponseError `page_unreadable` or `response_invalid`. */
  finish(answer: AnswerHead): RecordsPlace {
    this.#scanner.finish();
    this.#isWhole = true;
    const place = this.judge(answer);
    if (place.kind === 'object') return place;
    this.#refusePage(answer, place);
    const rest = findAnnouncedRest((path) => this.#outline.at(path), place);
    const advice = `if the endpoint is paginated, set streams.${this.#stream.name}.paginated to true`;
    return rest === undefined ? place : { ...place, rest: `${rest}; ${advice}` };
  }

  /** The same for an answer cut off after its beginning: what it shows so far. */
  judge(answer: AnswerHead): RecordsPlace {
    this.#refuseFlaw(answer);
    this.#refuseErrorEnvelope(answer);
    const { morePointer } = this.#order;
    const more = morePointer === undefined ? undefined : this.#outline.at(splitPointer(morePointer));
    if (this.#order.announces(answer, more)) {
      throw this.#toPaginated(answer, 'the endpoint is paginated');
    }
    const place = this.#locate(answer);
    this.#refuseErrorAlone(answer, place);
    return place;
  }

  #refusePage(answer: AnswerHead, { count }: RecordsPlace): void {
    const total = this.#totalPath && this.#outline.at(this.#totalPath);
    if (total?.kind !== 'number' || !(Number(total.text) > count)) return;
    const declared = escapeForTerminal(total.text ?? '');
    throw this.#toPaginated(answer, `the endpoint is paginated: it sent ${count} of ${declared} records`);
  }

  #toPaginated(answer: AnswerHead, what: string): Error {
    return invalid(answer, what, `Set "paginated: true" for streams.${this.#stream.name} in the config.`);
  }

  #refuseFlaw(answer: AnswerHead): void {
    const { flaw } = this.#scanner;
    if (flaw === undefined) return;
    if (this.#head.length === 0) throw unreadable(answer, 'the body is empty');
    // Excluded fields must not be quoted either.
    if (isMasked(this.#stream))
      throw unreadable(answer, `the body is not JSON (${flaw.reason}, at byte ${flaw.at})`);
    const start = escapeForTerminal(this.#head.toString('utf8'));
    throw unreadable(
      answer,
      `the body is not JSON (${flaw.reason}, at byte ${flaw.at}); it starts: ${start}`,
    );
  }

  #refuseErrorEnvelope(answer: AnswerHead): void {
    if (this.#outline.at(['error'])?.kind !== 'object') return;
    const code = this.#outline.at(['error', 'code']);
    const message = this.#outline.at(['error', 'message']);
    if (code === undefined && message === undefined) return;
    throw heldError(answer, readText(code), readText(message));
  }

  // With records these members are data; without records they are the error.
  #refuseErrorAlone(answer: AnswerHead, { kind, start, count }: RecordsPlace): void {
    if (!this.#isWhole || this.#outline.root?.kind !== 'object') return;
    const errors = this.#outline.at(['errors']);
    const isNamed = this.#stream.recordsPointer !== undefined;
    const isData = kind === 'array' ? count > 0 && (isNamed || start !== errors?.start) : isNamed;
    if (isData) return;
    const text = readText(this.#outline.at(['error'])) ?? '';
    if (text !== '') throw heldError(answer, undefined, text);
    if (errors?.kind === 'array' && errors.count > 0) throw heldError(answer, undefined, undefined);
  }

  // The records are where config says, else in the array at the top, under `data`, in the only array, or the
  // object is the one record.
  #locate(answer: AnswerHead): RecordsPlace {
    const pointer = this.#stream.recordsPointer ?? this.#findPointer();
    const place =
      pointer === undefined ? this.#outline.onlyArray?.place : this.#outline.at(splitPointer(pointer));
    const shown = pointer ?? joinPointer([this.#outline.onlyArray?.name ?? '']);
    // The rest may still arrive.
    if (place === undefined && !this.#isWhole)
      return { kind: 'array', pointer: shown, start: Number.MAX_SAFE_INTEGER, end: undefined, count: 0 };
    if (place?.kind !== 'array' && place?.kind !== 'object') {
      throw invalid(
        answer,
        `no records at ${shown === '' ? 'the top' : shown}; the answer is ${this.#describe()}`,
        `Set streams.${this.#stream.name}.records to where they are, e.g. /data.`,
      );
    }
    const { kind, start, end } = place;
    return { kind, pointer: shown, start, end, count: kind === 'array' ? place.count : 1 };
  }

  /** Undefined: in the only array. */
  #findPointer(): string | undefined {
    if (this.#outline.root?.kind !== 'object') return '';
    if (this.#outline.at(['data'])?.kind === 'array') return '/data';
    return this.#outline.onlyArray === undefined ? '' : undefined;
  }

  #describe(): string {
    const { root, names } = this.#outline;
    if (root?.kind === 'array') return `an array of ${root.count}`;
    if (root?.kind !== 'object') return `${root?.kind ?? 'nothing'} ${showText(root)}`.trim();
    return `an object with ${names.map((name) => escapeForTerminal(name.slice(0, 40))).join(', ') || 'no members'}`;
  }
}

const DATA_PATHS = [['data'], ['errors'], ['error', 'code'], ['error', 'message']];

/**
 * Reads the records of a document that was found whole, in batches. `read` gives its bytes from one
 * position up to another. Throws ResponseError `response_invalid` for a record too long or too deep.
 */
export async function* readRecords(
  answer: AnswerHead,
  place: RecordsPlace,
  read: (start: number, end: number) => AsyncIterable<Buffer>,
): AsyncGenerator<RecordBatch> {
  const { start, end } = place;
  if (end === undefined) return;
  const tooLong = (index: number) => toTooLongError(answer, place, index);
  if (place.kind === 'object') {
    if (end - start > MOST_RECORD_BYTES) throw tooLong(0);
    yield readRun(answer, await readWhole(read(start, end)), 0);
    return;
  }
  let index = 0;
  const options = { mostRecords: RECORDS_PER_BATCH, mostBytes: MOST_RECORD_BYTES, tooLong };
  for await (const run of cutRecords(read(start, end), options)) {
    yield readRun(answer, run.bytes, index);
    index += run.count;
  }
}

function readRun(answer: AnswerHead, bytes: Buffer, firstIndex: number): RecordBatch {
  const text = bytes.toString('utf8');
  const excess = findExcess(text);
  if (excess !== undefined) throw tooMuch(answer, `record ${firstIndex}, or one after it,`, excess);
  return readRecordRun(text, (at, depth) => tooDeep(answer, firstIndex + at, depth, MAX_DEPTH));
}

async function readWhole(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts);
}

function toTooLongError(answer: AnswerHead, { kind, pointer }: RecordsPlace, index: number): Error {
  if (kind === 'array') return tooLarge(answer, index);
  const megabytes = MOST_RECORD_BYTES / 2 ** 20;
  const { stream } = answer.request;
  const where = pointer === '' ? 'the answer' : `what is at ${pointer}`;
  return invalid(
    answer,
    `${where} is one object of more than ${megabytes} MB, the most one record may be`,
    `The table is unchanged. If the object holds the records, set streams.${stream}.records to where, e.g. /data.`,
  );
}

function readText(place: ValuePlace | undefined): string | undefined {
  if (place?.kind !== 'string' || place.text === undefined) return undefined;
  try {
    return JSON.parse(place.text) as string;
  } catch {
    // Only the beginning of a long text is kept.
    return place.text.slice(1);
  }
}

function showText(place: ValuePlace | undefined): string {
  if (place?.kind !== 'number' && place?.kind !== 'string') return '';
  return escapeForTerminal((place.text ?? '').slice(0, 60));
}
