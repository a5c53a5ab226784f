import type { DescribedApi } from '../../contract/described-api.ts';

/** The Example Orders API, as the text of one would describe it. */
export const ordersApi: DescribedApi = {
  baseUrl: 'https://orders.example.com/v3',
  auth: { header: 'Authorization', scheme: 'Bearer' },
  rateLimitHeaders: { remaining: 'RateLimit-Remaining', reset: 'RateLimit-Reset' },
  resetIn: 'seconds to go',
  limits: { requestsPerWindow: 100, windowSeconds: 900, burstPerSecond: 5, maxPageSize: 50 },
  params: ['per_page', 'page', 'updated_since'],
  // Numbered pages do not overlap: nothing shows whether rows moved between them.
  endpoints: { orders: 'unverified' },
  answer({ query, records }) {
    const found = records.filter(({ date }) => date >= (query.get('updated_since') ?? ''));
    const page = Number(query.get('page') ?? '1');
    const size = Number(query.get('per_page') ?? '20');
    const orders = found.slice((page - 1) * size, page * size);
    return { orders, meta: { total: found.length, page } };
  },
};
