import { describe, expect, it } from 'vitest';
import { analyticsRead } from '../../connectors/analytics-read/connector.ts';
import { connectors } from '../../connectors/registry.ts';
import { streamConfigSchema } from '../../src/model/config.ts';
import { describeConnector } from '../contract/connector.ts';

describeConnector(analyticsRead, ({ path, query, records }) => {
  if (path === 'visibility/mentions') return { data: records };
  const offset = Number(query.get('offset'));
  const limit = Number(query.get('limit'));
  const data = records.slice(offset, offset + limit);
  const hasMore = offset + data.length < records.length;
  return { data, pagination: { total: records.length, limit, offset, hasMore } };
});

describe('analytics-read', () => {
  it('has the four streams of the API text, only mentions unpaginated', () => {
    expect(analyticsRead.streams.map(({ name, path, paginated }) => [name, path, paginated])).toEqual([
      ['visibility_mentions', 'visibility/mentions', false],
      ['prompts_analytics', 'prompts/analytics', true],
      ['commerce_category_products', 'commerce/category-products', true],
      ['commerce_top_products', 'commerce/top-products', true],
    ]);
    expect(analyticsRead.streams.every(({ startParam }) => startParam === 'startDate')).toBe(true);
  });

  it('has paths that config could have written', () => {
    for (const { path } of analyticsRead.streams) expect(streamConfigSchema.parse({ path }).path).toBe(path);
  });

  it('states the documented limits and names', () => {
    expect(analyticsRead.limits).toEqual({ requestsPerHour: 600, burstPerSecond: 10, maxPageSize: 100 });
    expect(analyticsRead.auth.keyHeader).toBe('X-API-Key');
    expect(analyticsRead.auth.rejectionCauses).toEqual(['missing', 'invalid', 'expired', 'revoked']);
    expect(Object.values(analyticsRead.rateLimitHeaders)).toEqual([
      'X-RateLimit-Limit',
      'X-RateLimit-Remaining',
      'X-RateLimit-Reset',
    ]);
  });

  it('is registered under its own name', () => {
    for (const [name, connector] of Object.entries(connectors)) expect(connector.name).toBe(name);
  });
});
