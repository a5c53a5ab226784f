import { describe, expect, it } from 'vitest';
import { analyticsRead } from '../../connectors/analytics-read/connector.ts';
import { streamConfigSchema } from '../../src/model/config.ts';
import { describeConnector } from '../contract/connector.ts';
import { analyticsApi } from './analytics-read-api.ts';

describeConnector(analyticsRead, analyticsApi);

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
});
