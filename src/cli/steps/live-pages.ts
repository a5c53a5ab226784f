import type { Answer, MetricsServerOptions, PathRequest } from '../../metrics/metrics-server.ts';
import { toSyncError } from '../../model/errors.ts';
import { toSafeLine } from '../../render/safe-text.ts';
import { type PageGuard, refusePage } from '../../metrics/page-guard.ts';

/** Makes the pages of a live report, each from what is there at that moment. */
export interface PageSource {
  /** The HTML of the first page. */
  makeFirst(): Promise<string>;
  /** The HTML of an account's page; undefined if there is no such account. */
  makeAccount?(account: string): Promise<string | undefined>;
}

const ACCOUNTS = '/accounts/';
const RETRY_AFTER_S = 60;

/** What stands at the paths of a live report: `/`, and `/accounts/NAME` where there are accounts. */
export function listPages(source: PageSource, guard: PageGuard): MetricsServerOptions['paths'] {
  const make = oneAtATime();
  const show =
    (find: (path: string) => Promise<string | undefined>) =>
    async (request: PathRequest): Promise<Answer> =>
      refusePage(guard, request) ?? (await make(request.path, () => find(request.path)));
  return {
    '/': show(() => source.makeFirst()),
    [`${ACCOUNTS}*`]: show(async (path) => source.makeAccount?.(path.slice(ACCOUNTS.length))),
  };
}

/** Makes one page after the other, and one for all who ask for it meanwhile: many readers cost no more than one. */
function oneAtATime(): (path: string, find: () => Promise<string | undefined>) => Promise<Answer> {
  const going = new Map<string, Promise<Answer>>();
  let last: Promise<unknown> = Promise.resolve();
  return (path, find) => {
    const held = going.get(path);
    if (held !== undefined) return held;
    const answer = last.then(() => toAnswer(find)).finally(() => going.delete(path));
    going.set(path, answer);
    last = answer;
    return answer;
  };
}

async function toAnswer(find: () => Promise<string | undefined>): Promise<Answer> {
  try {
    const html = await find();
    if (html === undefined) return { status: 404, type: 'text/plain', body: 'not found\n' };
    const headers = {
      'content-security-policy': "frame-ancestors 'none'",
      'referrer-policy': 'no-referrer',
    };
    return { status: 200, type: 'text/html; charset=utf-8', body: html, headers };
  } catch (thrown) {
    const { message, hint } = toSyncError(thrown);
    const body = `The report cannot be made: ${toSafeLine(message)}\n${toSafeLine(hint)}\n`;
    const headers = { 'retry-after': String(RETRY_AFTER_S), refresh: String(RETRY_AFTER_S) };
    return { status: 503, type: 'text/plain; charset=utf-8', body, headers };
  }
}
