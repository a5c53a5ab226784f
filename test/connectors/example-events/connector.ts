import type { Connector } from '../../../src/model/connector.ts';

/**
 * A small API as many public ones are: pages by cursor, an `after` that the answer names, records under `items`, no
 * unpaginated endpoint. It shows what a connector with another way of paging is made of.
 */
export const exampleEvents: Connector = {
  name: 'example-events',
  title: 'Example Events API',
  streams: [
    { name: 'events', path: 'events', paginated: true, startParam: 'since' },
    { name: 'accounts', path: 'accounts', paginated: true },
  ],
  filterParams: ['since'],
  auth: {
    header: 'X-Api-Token',
    rejectionCauses: ['missing', 'wrong'],
    whereKeysAreMade: 'the account page under Tokens',
  },
  limits: { requestsPerWindow: 1_000, windowSeconds: 3_600, burstPerSecond: 5, maxPageSize: 100 },
  paging: {
    kind: 'cursor',
    limitParam: 'limit',
    cursorParam: 'after',
    namesRecord: true,
    records: '/items',
    next: '/paging/next',
    total: '/paging/total',
  },
  rateLimitHeaders: {
    limit: 'X-RateLimit-Limit',
    remaining: 'X-RateLimit-Remaining',
    reset: 'X-RateLimit-Reset',
  },
  versionSegment: 'v2',
};
