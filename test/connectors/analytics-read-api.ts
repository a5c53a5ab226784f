import type { DescribedApi } from '../contract/described-api.ts';

/** The Analytics Read API by its text, and the paths that its clients use for the two that the text leaves out. */
export const analyticsApi: DescribedApi = {
  baseUrl: 'https://analytics.example.com/api/v1',
  auth: { header: 'X-API-Key' },
  rateLimitHeaders: {
    limit: 'X-RateLimit-Limit',
    remaining: 'X-RateLimit-Remaining',
    reset: 'X-RateLimit-Reset',
  },
  limits: { requestsPerWindow: 600, windowSeconds: 3_600, burstPerSecond: 10, maxPageSize: 100 },
  params: ['limit', 'offset', 'startDate', 'entity', 'topicIds', 'topics', 'providers', 'regions'],
  endpoints: {
    'visibility/mentions': 'verified',
    'prompts/analytics': 'verified',
    'commerce/category-products': 'verified',
    'commerce/top-products': 'verified',
  },
  answer({ path, query, records }) {
    const found = records.filter(({ date }) => date >= (query.get('startDate') ?? ''));
    if (path === 'visibility/mentions') return { data: found };
    const offset = Number(query.get('offset'));
    const limit = Number(query.get('limit') ?? '50');
    const data = found.slice(offset, offset + limit);
    const hasMore = offset + data.length < found.length;
    return { data, pagination: { total: found.length, limit, offset, hasMore } };
  },
};
