import { NetworkError, ResponseError } from '../model/errors.ts';
import type { Page } from '../model/page.ts';
import { describeRequest } from '../http/describe-request.ts';
import { withoutPlace } from '../text/name-once.ts';
import type { Coverage } from './coverage.ts';
import { FIRST_SEGMENT, type Segment } from './segments.ts';

export interface RequestedPage {
  readonly segment: Segment;
  readonly page: Page;
}

/** Requests the page at the start of a segment. */
export type RequestPage = (segment: Segment) => Promise<Page>;

/**
 * Requests a scan's pages, several at a time, and yields them as they arrive. The caller passes each to
 * `coverage.accept` before taking the next, which decides what is requested next.
 *
 * After a failure nothing new is requested, but pages in flight are still yielded: they are paid for.
 */
export async function* requestPages(
  coverage: Coverage,
  concurrency: number,
  request: RequestPage,
): AsyncGenerator<RequestedPage> {
  const arrivals = new Arrivals();
  let failures: FailedPage[] = [];
  for (;;) {
    while (failures.length === 0 && arrivals.expected < concurrency) {
      const segment = coverage.takeSegment();
      if (segment === undefined) break;
      arrivals.expect(settle(segment, request));
    }
    if (arrivals.expected === 0) {
      if (failures.length === 0) return;
      yield await reread(coverage, failures, request);
      failures = [];
      continue;
    }
    const result = await arrivals.next();
    if ('page' in result) {
      yield result;
    } else {
      coverage.returnSegment(result.segment);
      failures.push(result);
    }
  }
}

/**
 * Pages in order of arrival. `Promise.race` would keep every earlier page in memory until a request ends: garbage
 * collection took a fifth of the time.
 */
class Arrivals {
  /** Pages in flight or waiting: several may arrive while the caller stages one. */
  expected = 0;
  readonly #arrived: Settled[] = [];
  #wake: (() => void) | undefined;

  expect(page: Promise<Settled>): void {
    this.expected += 1;
    void page.then((settled) => {
      this.#arrived.push(settled);
      this.#wake?.();
    });
  }

  async next(): Promise<Settled> {
    for (;;) {
      const settled = this.#arrived.shift();
      if (settled !== undefined) {
        this.expected -= 1;
        return settled;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

type Settled = RequestedPage | FailedPage;

interface FailedPage {
  readonly segment: Segment;
  readonly error: unknown;
}

function settle(segment: Segment, request: RequestPage): Promise<Settled> {
  return request(segment).then(
    (page) => ({ segment, page }),
    (error: unknown) => ({ segment, error }),
  );
}

/**
 * Retries a failed page if the server has recovered. If the page fails again while the head works, it is broken at
 * its offset and waiting will not fix it; every other failure is thrown.
 */
async function reread(
  coverage: Coverage,
  failures: readonly FailedPage[],
  request: RequestPage,
): Promise<RequestedPage> {
  const error = failures.find((failure) => !isServerFailure(failure.error))?.error ?? failures[0]?.error;
  const hasHead = failures.every(({ segment }) => !segment.first);
  if (!isServerFailure(error) || !hasHead || !(await isHeadAnswered(request))) throw error as Error;
  const segment = coverage.takeSegment();
  if (segment === undefined) throw error;
  const result = await settle(segment, request);
  if ('page' in result) return result;
  coverage.returnSegment(segment);
  throw isServerFailure(result.error) ? blamePage(segment, result.error) : (result.error as Error);
}

async function isHeadAnswered(request: RequestPage): Promise<boolean> {
  const result = await settle(FIRST_SEGMENT, request);
  if ('page' in result) return true;
  if (isServerFailure(result.error)) return false;
  throw result.error as Error;
}

function isServerFailure(error: unknown): error is NetworkError {
  return error instanceof NetworkError && error.code === 'server_failed';
}

function blamePage({ start }: Segment, error: NetworkError): ResponseError {
  const { stream = '' } = error.context;
  const why = withoutPlace(error.message, describeRequest({ stream, offset: start }));
  return new ResponseError(`the page at offset ${start} fails while others work: ${why}`, {
    code: 'page_unreadable',
    hint: 'The table is unchanged and the other pages are kept for 24 h. Report this offset to the provider of the API.',
    context: { ...error.context, offset: start },
    cause: error,
  });
}
