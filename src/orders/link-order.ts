import type { ResponseHeaders } from '../model/http.ts';
import type { LinkPaging } from '../model/paging.ts';
import { escapeForTerminal } from '../text/redact.ts';
import { followNext, PAGES_APART } from './chain.ts';
import { EnvelopeError, readCount } from './envelope.ts';
import type { PageAnswer, PageOrder } from './page-order.ts';

// One link of a header (RFC 8288): `<target>`, then parameters such as `; rel="next"`.
const LINK = /[\s,]*<([^<>]*)>((?:\s*;\s*[^\s=;,"]+(?:\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s",;]*))?)*)\s*(?=,|$)/y;
const PARAM = /;\s*([^\s=;,"]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",;]*)))?/g;

/**
 * Pages that name the next one in the header `Link`. Only the parameters that the connector lists are taken from a
 * link: the address, the other parameters and the key stay those of the request.
 */
export function createLinkOrder(paging: LinkPaging): PageOrder {
  const { limitParam, pageParams, total, totalHeader } = paging;

  function readTotal({ value, headers }: PageAnswer): number | undefined {
    if (total !== undefined) return readCount(value, total);
    return totalHeader === undefined ? undefined : readCountHeader(headers, totalHeader);
  }

  return {
    walk: 'chained',
    doubt: PAGES_APART,
    ownParams: [limitParam, ...pageParams],
    morePointer: undefined,
    query: ({ next }, limit) => ({
      ...Object.fromEntries(new URLSearchParams(next ?? '')),
      [limitParam]: String(limit),
    }),
    read(answer) {
      const target = findNext(answer.headers);
      const next = target === undefined ? undefined : takeParams(target, answer.url, pageParams);
      return { total: readTotal(answer), hasMore: next !== undefined, next };
    },
    follow: followNext,
    pick: () => undefined,
    announces: ({ headers }) => (listNext(headers) ?? []).length > 0,
  };
}

/** The target of the link to the next page; undefined on the last page. */
function findNext(headers: ResponseHeaders): string | undefined {
  const targets = listNext(headers);
  if (targets === undefined) throw new EnvelopeError('its Link header is not a list of links');
  if (targets.length > 1) throw new EnvelopeError('its Link header names two next pages');
  return targets[0];
}

/** Different targets of links with `rel="next"`; undefined where the header is not a list of links. */
function listNext(headers: ResponseHeaders): readonly string[] | undefined {
  const value = headers['link'];
  const text = Array.isArray(value) ? value.join(', ') : String(value ?? '');
  const targets = new Set<string>();
  LINK.lastIndex = 0;
  let end = 0;
  for (let link = LINK.exec(text); link !== null; link = LINK.exec(text)) {
    const [, target = '', params = ''] = link;
    if (isNext(params)) targets.add(target);
    end = LINK.lastIndex;
  }
  return /^[\s,]*$/.test(text.slice(end)) ? [...targets] : undefined;
}

function isNext(params: string): boolean {
  const given = [...params.matchAll(PARAM)].map(([, name = '', quoted, plain]) => ({
    name: name.toLowerCase(),
    value: quoted?.replaceAll(/\\(.)/g, '$1') ?? plain ?? '',
  }));
  // A link of another context is not about this page; of several relations only the first counts.
  if (given.some(({ name }) => name === 'anchor')) return false;
  const relations = given
    .find(({ name }) => name === 'rel')
    ?.value.toLowerCase()
    .split(/\s+/);
  return relations?.includes('next') === true;
}

/** The listed parameters of a link to the same endpoint, as a query. */
function takeParams(target: string, asked: URL, names: readonly string[]): string {
  const url = URL.canParse(target, asked.href) ? new URL(target, asked) : undefined;
  if (url === undefined) throw new EnvelopeError('its link to the next page is not an address');
  const isSame = url.origin === asked.origin && withoutSlash(url) === withoutSlash(asked);
  if (!isSame || url.username !== '' || url.password !== '') {
    const place = escapeForTerminal(`${url.origin}${url.pathname}`.slice(0, 200));
    throw new EnvelopeError(
      `its link to the next page leads to ${place}, which is not the endpoint that was asked; it was not followed`,
    );
  }
  const taken = new URLSearchParams();
  for (const name of names) {
    const value = url.searchParams.get(name);
    if (value !== null) taken.set(name, value);
  }
  if (taken.size === 0)
    throw new EnvelopeError(`its link to the next page has no parameter ${names.join(' or ')}`);
  return taken.toString();
}

function withoutSlash({ pathname }: URL): string {
  return pathname.replace(/\/+$/, '');
}

function readCountHeader(headers: ResponseHeaders, name: string): number | undefined {
  const value = headers[name.toLowerCase()];
  if (value === undefined) return undefined;
  const count = typeof value === 'string' && /^\d{1,15}$/.test(value.trim()) ? Number(value) : undefined;
  if (count === undefined) throw new EnvelopeError(`its header ${name} should be a whole number`);
  return count;
}
