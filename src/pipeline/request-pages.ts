import { AbortedError, NetworkError, ResponseError } from '../model/errors.ts';
import type { Page } from '../model/page.ts';
import type { Coverage, Segment } from './coverage.ts';

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
  const failures: FailedPage[] = [];
  let answered = 0;
  for (;;) {
    while (failures.length === 0 && inFlight.size < concurrency) {
      const segment = coverage.takeSegment();
      if (segment === undefined) break;
      const answeredBefore = answered;
      const settled = request(segment)
        .then((page): Settled => ({ segment, page }))
        .catch((error: unknown): Settled => ({ segment, error, othersAnswered: answered > answeredBefore }));
      inFlight.set(segment, settled);
    }
    if (inFlight.size === 0) break;
    const result = await Promise.race(inFlight.values());
    inFlight.delete(result.segment);
    if ('page' in result) {
      answered += 1;
      yield result;
    } else {
      coverage.returnSegment(result.segment);
      failures.push(result);
    }
  }
  if (failures.length > 0) throw await explainFailure(failures, request);
}

type Settled = RequestedPage | FailedPage;

interface FailedPage {
  readonly segment: Segment;
  readonly error: unknown;
  readonly othersAnswered: boolean;
}

// A server that answers other pages is up: one that fails for good is broken at this offset, and waiting will not mend it.
async function explainFailure(failures: readonly FailedPage[], request: RequestPage): Promise<unknown> {
  const [first] = failures as readonly [FailedPage];
  const { segment, error, othersAnswered } = first;
  if (!(error instanceof NetworkError) || error.code !== 'server_failed') return error;
  const alone = failures.length === 1 && !segment.first;
  if (!othersAnswered && !(alone && (await isHeadAnswered(request)))) return error;
  return new ResponseError(
    `the page at offset ${segment.start} fails while others answer: ${error.message}`,
    {
      code: 'page_unreadable',
      hint: 'The table is as it was and the other pages are kept for 24 h. Tell the provider of the API about this offset.',
      context: { ...error.context, offset: segment.start },
      cause: error,
    },
  );
}

// Asked when no other page was on its way that could have told whether the server is up.
async function isHeadAnswered(request: RequestPage): Promise<boolean> {
  try {
    await request({ start: 0, end: undefined, first: true, attempts: 0 });
    return true;
  } catch (error) {
    if (error instanceof AbortedError) throw error;
    return false;
  }
}
