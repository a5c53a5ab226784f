import type { WireAnswer, WireRequest } from './wire-server.ts';

/** What a healthy API answers to a request: pages of `items`, written without any code of Sluice's own. */
export function servePages(records: readonly unknown[]): (request: WireRequest) => WireAnswer {
  return ({ path, query }) => {
    if (!path.endsWith('/items')) {
      return {
        status: '404 Not Found',
        body: '{"error":{"code":"NOT_FOUND","message":"No such endpoint."}}',
      };
    }
    const limit = Number(query.get('limit') ?? 50);
    const offset = Number(query.get('offset') ?? 0);
    const data = records.slice(offset, offset + limit);
    const pagination = {
      total: records.length,
      limit,
      offset,
      hasMore: offset + data.length < records.length,
    };
    return { headers: { ...JSON_TYPE, ...wideQuota() }, body: JSON.stringify({ data, pagination }) };
  };
}

export const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' } as const;

/** Rate limit headers of a plan that no test exhausts. */
export function wideQuota(): Readonly<Record<string, string>> {
  return {
    'x-ratelimit-limit': '1000000',
    'x-ratelimit-remaining': '999000',
    'x-ratelimit-reset': '3000',
  };
}
