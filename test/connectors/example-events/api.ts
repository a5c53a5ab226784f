import type { DescribedApi } from '../../contract/described-api.ts';

/** The Example Events API, as the text of one would describe it. */
export const eventsApi: DescribedApi = {
  baseUrl: 'https://events.example.com/v2',
  auth: { header: 'X-Api-Token' },
  rateLimitHeaders: {
    limit: 'X-RateLimit-Limit',
    remaining: 'X-RateLimit-Remaining',
    reset: 'X-RateLimit-Reset',
  },
  limits: { requestsPerWindow: 1_000, windowSeconds: 3_600, burstPerSecond: 5, maxPageSize: 100 },
  params: ['limit', 'after', 'since'],
  endpoints: { events: 'verified', accounts: 'verified' },
  answer({ path, query, records }) {
    const since = path === 'events' ? (query.get('since') ?? '') : '';
    const found = records.filter(({ date }) => date >= since);
    const start = Number(query.get('after') ?? '0');
    const end = start + Number(query.get('limit') ?? '50');
    const next = end < found.length ? String(end) : null;
    return { items: found.slice(start, end), paging: { next, total: found.length } };
  },
};
