import { BugError } from '../model/errors.ts';
import type { ApiClient, ApiRequest } from '../model/http.ts';
import type { Page } from '../model/page.ts';
import type { Settings } from '../model/settings.ts';
import type { Stream } from '../model/stream.ts';
import { buildUrl } from './build-url.ts';
import { readDocument, readPage } from './read-page.ts';

// An unpaginated answer is parsed as one text, and the longest text the runtime holds is 512 MiB.
const WHOLE_DATASET = { maxBytes: 480 * 2 ** 20, deadline: 'idle' } as const;

/** Asks for one page of a stream (the whole answer of an unpaginated one) and reads it. */
export async function requestPage(
  settings: Settings,
  client: ApiClient,
  stream: Stream,
  from: string | undefined,
  offset: number,
  signal: AbortSignal | undefined,
): Promise<Page> {
  const page = stream.paginated ? { limit: stream.pageSize, offset } : undefined;
  const read = stream.paginated ? readPage : readDocument;
  let answer: Page | undefined;
  const request: ApiRequest = {
    stream: stream.name,
    url: buildUrl(settings, stream, from, page),
    ...(page === undefined ? { body: WHOLE_DATASET } : { offset }),
    // Read while the request can still be repeated: a cut body is a passing fault.
    accept: (response) => {
      answer = read(stream, response, settings.connector.paging);
    },
  };
  await client.get(request, signal);
  if (answer === undefined)
    throw new BugError('an answer was not read', { code: 'bug', hint: 'Please report this.' });
  return answer;
}
