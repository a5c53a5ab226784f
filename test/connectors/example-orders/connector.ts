import type { Connector } from '../../../src/model/connector.ts';

/**
 * An API with numbered pages, a bearer token, and a quota of a quarter of an hour that only two headers tell of. It
 * shows what a connector says as data.
 */
export const exampleOrders: Connector = {
  name: 'example-orders',
  title: 'Example Orders API',
  streams: [{ name: 'orders', path: 'orders', paginated: true, startParam: 'updated_since' }],
  filterParams: ['updated_since'],
  auth: {
    header: 'Authorization',
    scheme: 'Bearer',
    rejectionCauses: ['missing', 'revoked'],
    whereKeysAreMade: 'the settings under API access',
  },
  limits: { requestsPerWindow: 100, windowSeconds: 900, burstPerSecond: 5, maxPageSize: 50 },
  paging: {
    kind: 'page-number',
    limitParam: 'per_page',
    pageParam: 'page',
    records: '/orders',
    total: '/meta/total',
    page: '/meta/page',
  },
  rateLimitHeaders: { remaining: 'RateLimit-Remaining', reset: 'RateLimit-Reset' },
  versionSegment: 'v3',
};
