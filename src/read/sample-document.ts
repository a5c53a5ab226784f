import type { RecordBatch } from '../json/page-records.ts';
import type { Clock } from '../model/clock.ts';
import { formatDuration } from '../text/duration.ts';
import { BugError } from '../model/errors.ts';
import type { ApiResponse, BodySink } from '../model/http.ts';
import type { PageRecord } from '../model/page.ts';
import type { PagingDescription } from '../model/paging.ts';
import type { Stream } from '../model/stream.ts';
import { buildUrl } from '../http/build-url.ts';
import { compileMask, type RecordMask } from '../schema/mask-records.ts';
import { type Asker, describeApi } from './request-page.ts';
import { DocumentReading, readRecords, type RecordsPlace } from './read-document.ts';
import { WHOLE_DATASET } from './request-document.ts';
import { formatCountOf } from '../text/format-count.ts';

/** How much of an unpaginated response is read for a sample, bytes; most are smaller and are counted. */
const SAMPLE_BYTES = 16 * 2 ** 20;
/** How much of that is kept for records, bytes. */
const KEPT_BYTES = 4 * 2 ** 20;

/** How long a response may take before its start must suffice, ms. */
const SAMPLE_MS = 60_000;
/** Limit for the whole exchange, even if hardly any bytes arrive, ms. */
const MOST_MS = 2 * SAMPLE_MS;

/** What is needed to request a sample. */
export interface Asking extends Asker {
  readonly clock: Clock;
}

/** The beginning of an unpaginated answer. */
export interface DocumentSample {
  /** Records at its beginning, masked; at most as many as were asked for. */
  readonly records: readonly PageRecord[];
  /** Where the records are, as JSON pointer, and whether they are an array or the one object. */
  readonly place: Pick<RecordsPlace, 'kind' | 'pointer'>;
  /** Records of the whole answer; undefined when it is longer than a sample. */
  readonly total: number | undefined;
  readonly serverDateMs: number | undefined;
  /** Fields of config's `exclude` and `hash` rules that were found in the records. */
  readonly masked?: ReadonlySet<string> | undefined;
  /** What in the whole answer says that it is one page of several. */
  readonly rest?: string | undefined;
  /** A sentence for the user if the response had not ended in time. */
  readonly slowness: string | undefined;
}

/**
 * Samples an unpaginated endpoint: stops reading after the first megabytes or the first minute, as a sample does not
 * need the whole dataset. Throws what a sync would throw for the part that was read.
 */
export async function sampleDocument(
  asking: Asking,
  stream: Stream,
  from: string | undefined,
  mostRecords: number,
): Promise<DocumentSample> {
  const { source, signal } = asking;
  const head = new AnswerHeadReader(stream, asking);
  let place: RecordsPlace | undefined;
  const answer = await source.client.get(
    {
      stream: stream.name,
      url: buildUrl(describeApi(asking), stream, from, undefined),
      body: { ...WHOLE_DATASET, mostMs: MOST_MS },
      sink: head.sink,
      accept: (response) => {
        place = head.judge(response);
      },
    },
    signal,
  );
  if (place === undefined)
    throw new BugError('a response was not read', { code: 'bug', hint: 'Please report this.' });
  const { kind, pointer, count, rest } = place;
  return {
    records: await head.readRecords(answer, place, mostRecords),
    place: { kind, pointer },
    total: head.isWhole ? count : undefined,
    serverDateMs: answer.serverDateMs,
    masked: head.mask?.matched,
    rest,
    slowness: head.slowness,
  };
}

/** Reads the start of a response; restarts with each attempt. */
class AnswerHeadReader {
  readonly #stream: Stream;
  readonly #paging: PagingDescription;
  readonly mask: RecordMask | undefined;
  #reading: DocumentReading;
  #kept: Buffer[] = [];
  #isWhole = false;
  readonly #clock: Clock;
  /** Bytes received when the time ran out. */
  #slowBytes: number | undefined;

  constructor(stream: Stream, { source, settings, clock }: Asking) {
    this.#clock = clock;
    this.#stream = stream;
    this.#paging = source.connector.paging;
    this.mask = compileMask(stream, settings.hashKey);
    this.#reading = new DocumentReading(stream, this.#paging);
  }

  get isWhole(): boolean {
    return this.#isWhole;
  }

  get slowness(): string | undefined {
    return this.#slowBytes === undefined
      ? undefined
      : `its answer had not ended after ${formatDuration(SAMPLE_MS)} and ${formatCountOf(this.#slowBytes, 'byte')}; a sync continues reading as long as data arrives, unless --deadline ends it`;
  }

  readonly sink: BodySink = async (chunks) => {
    const startMs = this.#clock.monotonic();
    this.#slowBytes = undefined;
    this.#reading = new DocumentReading(this.#stream, this.#paging);
    this.#kept = [];
    this.#isWhole = false;
    let byteCount = 0;
    for await (const chunk of chunks) {
      if (byteCount < KEPT_BYTES) this.#kept.push(chunk.subarray(0, KEPT_BYTES - byteCount));
      byteCount += chunk.length;
      if (!this.#reading.push(chunk) || byteCount >= SAMPLE_BYTES) return;
      // Silence has its own timeout; this one is for responses that trickle in.
      if (this.#clock.monotonic() - startMs >= SAMPLE_MS) {
        this.#slowBytes = byteCount;
        return;
      }
    }
    this.#isWhole = true;
  };

  judge(answer: ApiResponse): RecordsPlace {
    return this.#isWhole ? this.#reading.finish(answer) : this.#reading.judge(answer);
  }

  async readRecords(answer: ApiResponse, place: RecordsPlace, most: number): Promise<readonly PageRecord[]> {
    const kept = Buffer.concat(this.#kept);
    const end = Math.min(place.end ?? Infinity, kept.length);
    const isCut = place.end === undefined || place.end > end;
    if (most === 0 || place.start >= end || (isCut && place.kind === 'object')) return [];
    const mask = this.mask?.mask ?? ((record: PageRecord) => record);
    const records: PageRecord[] = [];
    for await (const batch of readBatches(answer, { ...place, end }, kept)) {
      records.push(...batch.records.slice(0, most - records.length).map(mask));
      if (records.length >= most) break;
    }
    return records;
  }
}

function readBatches(answer: ApiResponse, place: RecordsPlace, kept: Buffer): AsyncGenerator<RecordBatch> {
  return readRecords(answer, place, async function* (start, end) {
    yield await Promise.resolve(kept.subarray(start, end));
  });
}
