import { describe, expect, it } from 'vitest';

import { createSimulator } from '../../src/simulator/simulator.ts';
import { ask, askAll, numbered } from './ask.ts';

describe('paging', () => {
  it.each([
    ['prompts/analytics', 50],
    ['commerce/category-products', 50],
    ['commerce/top-products', 5],
  ])('gives %s a default limit of %i', (path, limit) => {
    const { data, pagination } = ask(createSimulator(), path);
    expect(data).toHaveLength(limit);
    expect(pagination).toMatchObject({ limit, offset: 0, hasMore: true });
  });

  it.each(['prompts/analytics', 'commerce/category-products', 'commerce/top-products'])(
    'refuses a limit above 100 on %s, naming it',
    (path) => {
      const simulator = createSimulator();
      expect(ask(simulator, `${path}?limit=100`).data).toHaveLength(100);
      const refused = ask(simulator, `${path}?limit=101`);
      expect(refused.status).toBe(400);
      expect(refused.error?.code).toBe('VALIDATION_ERROR');
      expect(refused.error?.message).toContain('limit');
    },
  );

  it('caps a limit above the maximum when told to', () => {
    const simulator = createSimulator({ limitTooHigh: 'cap' });
    const { data, pagination } = ask(simulator, 'prompts/analytics?limit=1000');
    expect(data).toHaveLength(100);
    expect(pagination?.limit).toBe(100);
  });

  it.each(['limit=0', 'limit=-1', 'limit=x', 'limit=1.5', 'offset=-1', 'offset=', 'offset=1e3'])(
    'refuses %s',
    (query) => {
      const refused = ask(createSimulator(), `prompts/analytics?${query}`);
      expect(refused.status).toBe(400);
      expect(refused.error?.message).toContain(query.split('=')[0]);
    },
  );

  it('gives every record once over all pages', () => {
    const rows = askAll(createSimulator(numbered(250)), 'numbers');
    expect(rows.map((row) => row['id'])).toEqual(Array.from({ length: 250 }, (_, id) => id));
  });

  it('says hasMore false on the last page, also when it is full, and beyond the end', () => {
    const simulator = createSimulator(numbered(200));
    const hasMore = (offset: number) =>
      ask(simulator, `numbers?limit=100&offset=${offset}`).pagination?.hasMore;
    expect([0, 99, 100, 150, 200, 5000].map(hasMore)).toEqual([true, true, false, false, false, false]);
    expect(ask(simulator, 'numbers?offset=5000').data).toEqual([]);
  });

  it('gives visibility/mentions whole and without an envelope of pages', () => {
    const { data, pagination } = ask(createSimulator(), 'visibility/mentions?limit=3');
    expect(data).toHaveLength(900);
    expect(pagination).toBeUndefined();
  });

  it('answers 404 for unknown paths, other bases and other methods', () => {
    const simulator = createSimulator();
    expect(ask(simulator, 'prompts').error?.code).toBe('NOT_FOUND');
    expect(ask(simulator, 'prompts/analytics/').status).toBe(404);
    expect(ask(simulator, 'prompts/analytics', { method: 'POST' }).status).toBe(404);
    expect(ask(createSimulator({ builtIns: false }), 'prompts/analytics').status).toBe(404);
  });
});
