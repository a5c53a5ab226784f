import type { Connector } from '../../src/model/connector.ts';

// The text names startDate and not the endpoints that honour it: the engine proves it for each stream.
const startParam = 'startDate';

/** The Analytics Read API, as far as its text documents it; see the README next to this file. */
export const analyticsRead: Connector = {
  name: 'analytics-read',
  title: 'Analytics Read API',
  streams: [
    { name: 'visibility_mentions', path: 'visibility/mentions', paginated: false, startParam },
    { name: 'prompts_analytics', path: 'prompts/analytics', paginated: true, startParam },
    { name: 'commerce_category_products', path: 'commerce/category-products', paginated: true, startParam },
    { name: 'commerce_top_products', path: 'commerce/top-products', paginated: true, startParam },
  ],
  filterParams: ['entity', 'topicIds', 'topics', 'providers', 'regions', 'startDate'],
  auth: {
    header: 'X-API-Key',
    rejectionCauses: ['missing', 'invalid', 'expired', 'revoked'],
    whereKeysAreMade:
      'the dashboard under Settings > API Keys (at most 5 active keys, valid for at most 1 year, shown once)',
  },
  limits: { requestsPerWindow: 600, windowSeconds: 3_600, burstPerSecond: 10, maxPageSize: 100 },
  paging: {
    kind: 'offset',
    limitParam: 'limit',
    offsetParam: 'offset',
    records: '/data',
    total: '/pagination/total',
    offset: '/pagination/offset',
    hasMore: '/pagination/hasMore',
  },
  rateLimitHeaders: {
    limit: 'X-RateLimit-Limit',
    remaining: 'X-RateLimit-Remaining',
    reset: 'X-RateLimit-Reset',
  },
  versionSegment: 'v1',
};
