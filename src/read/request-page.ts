import { BugError } from '../model/errors.ts';
import type { ApiRequest, ApiResponse } from '../model/http.ts';
import type { Page } from '../model/page.ts';
import type { Settings } from '../model/settings.ts';
import type { Source } from '../model/source.ts';
import type { Stream } from '../model/stream.ts';
import { buildUrl } from '../http/build-url.ts';
import { compileMask } from '../schema/mask-records.ts';
import type { PageAsked } from '../orders/page-order.ts';
import { invalid } from './answer-errors.ts';
import { readPage } from './read-page.ts';

/** How requests are written, and what of the answers stays hidden. */
export type AnswerSettings = Pick<Settings, 'arrayParams' | 'hashKey'>;

/** Who asks: a run, or a command that looks at a page. */
export interface Asker {
  readonly source: Source;
  readonly settings: AnswerSettings;
  readonly signal?: AbortSignal | undefined;
}

/** What an address is made of. */
export function describeApi({ source: { connector, baseUrl }, settings: { arrayParams } }: Asker) {
  return { connector, baseUrl, arrayParams };
}

/** Which page of a stream is asked for. */
export interface PageRequest extends PageAsked {
  /** ISO date sent as the cursor's parameter. */
  readonly from?: string | undefined;
  /** The page is staged as soon as it arrives, even if the run was told to stop. */
  readonly isKept?: boolean;
}

/** Asks for one page of a paginated stream and reads it. */
export async function requestPage(
  asker: Asker,
  stream: Stream,
  { from, offset, next, isKept = false }: PageRequest,
): Promise<Page> {
  const { source, settings, signal } = asker;
  let answer: Page | undefined;
  const request: ApiRequest = {
    stream: stream.name,
    url: buildUrl(describeApi(asker), stream, from, { offset, next }),
    offset,
    isKept,
    // Read while the request can still be retried: a truncated body is a temporary error.
    accept: (response) => {
      const page = readPage(stream, response, source.connector.paging);
      assertNoKey(response, page, source);
      answer = maskPage(page, stream, settings.hashKey);
    },
  };
  await source.client.get(request, signal);
  if (answer === undefined)
    throw new BugError('a response was not read', { code: 'bug', hint: 'Please report this.' });
  return answer;
}

// What names the next page is sent in an address and kept on the disk: the key may be in neither.
function assertNoKey(response: ApiResponse, { next = '' }: Page, source: Source): void {
  if (!source.showsKey(next)) return;
  throw invalid(
    response,
    'the answer names its next page with the API key in it; it was not followed',
    'The table is unchanged. Report it to the provider of the API: a key in an address ends up in logs.',
  );
}

// Masked here, so that nothing compared, stored or shown later contains excluded fields.
function maskPage(page: Page, stream: Stream, hashKey: string | undefined): Page {
  const mask = compileMask(stream, hashKey);
  if (mask === undefined) return page;
  return { ...page, records: page.records.map(mask.mask), masked: mask.matched };
}
