import { NetworkError, ResponseError } from '../../model/errors.ts';
import type { Page } from '../../model/page.ts';
import type { Coverage } from './coverage.ts';
import { FIRST_SEGMENT, type Segment } from './segments.ts';

export interface RequestedPage {
  readonly segment: Segment;
  readonly page: Page;
}

/** Asks for the page that begins where a segment starts. */
export type RequestPage = (segment: Segment) => Promise<Page>;

/**
 * Asks for a scan's pages, several at a time, and yields them as they arrive. The caller hands each to
 * `coverage.accept` before it takes the next, and so decides what is still to be asked for.
 *
 * After a failure nothing new is asked, but pages on their way are still yielded: they are paid for.
 */
export async function* requestPages(
  coverage: Coverage,
  concurrency: number,
  request: RequestPage,
): AsyncGenerator<RequestedPage> {
  // A page stays in here until it is yielded: several may arrive while the caller stages one.
  const inFlight = new Map<Segment, Promise<Settled>>();
  let failures: FailedPage[] = [];
  for (;;) {
    while (failures.length === 0 && inFlight.size < concurrency) {
      const segment = coverage.takeSegment();
      if (segment === undefined) break;
      inFlight.set(segment, settle(segment, request));
    }
    if (inFlight.size === 0) {
      if (failures.length === 0) return;
      yield await askAgain(coverage, failures, request);
      failures = [];
      continue;
    }
    const result = await Promise.race(inFlight.values());
    inFlight.delete(result.segment);
    if ('page' in result) {
      yield result;
    } else {
      coverage.returnSegment(result.segment);
      failures.push(result);
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
 * Gives one failed page another chance if the server fails no longer. A page that fails again while the
 * head is answered is broken at its offset, and waiting will not mend it; every other failure is thrown.
 */
async function askAgain(
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
  return new ResponseError(`the page at offset ${start} fails while others answer: ${error.message}`, {
    code: 'page_unreadable',
    hint: 'The table is as it was and the other pages are kept for 24 h. Tell the provider of the API about this offset.',
    context: { ...error.context, offset: start },
    cause: error,
  });
}
