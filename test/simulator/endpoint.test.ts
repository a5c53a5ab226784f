import { describe, expect, it } from 'vitest';

import { rawJson } from '../../src/simulator/raw-json.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { ask, numbered } from './ask.ts';

describe('an endpoint of one’s own', () => {
  it('replaces a built-in one of the same path and leaves the others', () => {
    const records = () => [{ id: 1 }];
    const simulator = createSimulator({ endpoints: { 'prompts/analytics': { paginated: true, records } } });
    expect(ask(simulator, 'prompts/analytics').data).toEqual([{ id: 1 }]);
    expect(ask(simulator, 'visibility/mentions').data).toHaveLength(900);
  });

  it('sends raw JSON exactly as it stands, as a record or inside one', () => {
    const records = () => [
      rawJson('{"id":9007199254740993, "id":1e400}'),
      { nested: { exact: rawJson('1.10') }, big: 2n ** 64n, left: undefined },
    ];
    const simulator = createSimulator({ endpoints: { raw: { paginated: false, records } } });
    const { response } = ask(simulator, 'raw');
    expect(response.body).toBe(
      '{"data":[{"id":9007199254740993, "id":1e400},{"nested":{"exact":1.10},"big":18446744073709551616}]}',
    );
  });

  it('has limits, a date field and required parameters of its own', () => {
    const simulator = createSimulator({
      endpoints: {
        own: {
          paginated: true,
          records: (day) => [rawJson('{"at":"2026-01-01T10:00:00Z"}'), { at: `${day}T10:00:00Z` }],
          dateField: 'at',
          defaultLimit: 1,
          maxLimit: 2,
          requiredParams: ['account'],
        },
      },
    });
    expect(ask(simulator, 'own').error?.message).toContain('account');
    expect(ask(simulator, 'own?account=1').pagination).toMatchObject({ total: 2, limit: 1 });
    expect(ask(simulator, 'own?account=1&limit=3').status).toBe(400);
    expect(ask(simulator, 'own?account=1&startDate=2026-01-02').data).toEqual([
      { at: '2026-01-31T10:00:00Z' },
    ]);
  });

  it('has filters of its own on the fields it names', () => {
    const simulator = createSimulator({
      endpoints: {
        own: {
          paginated: false,
          records: () => [{ brandId: 'a' }, { brandId: 'b' }, { brandId: 'c' }],
          filters: { brand: ['brandId'] },
        },
      },
    });
    expect(ask(simulator, 'own?brand=a,c').data).toEqual([{ brandId: 'a' }, { brandId: 'c' }]);
    expect(ask(simulator, 'own?brand=').error?.message).toContain('brand');
    expect(ask(simulator, 'own?other=a').data).toHaveLength(3);
  });

  it.each([
    [undefined, '{"data":[{"id":1},{"id":2}]}'],
    ['data', '{"data":[{"id":1},{"id":2}]}'],
    ['array', '[{"id":1},{"id":2}]'],
    [{ member: 'the items' }, '{"the items":[{"id":1},{"id":2}]}'],
    ['object', '{"id":1}'],
  ] as const)('answers whole in the shape %j', (shape, body) => {
    const records = () => [{ id: 1 }, { id: 2 }];
    const endpoint = { paginated: false, records, ...(shape !== undefined && { shape }) };
    expect(ask(createSimulator({ endpoints: { own: endpoint } }), 'own').response.body).toBe(body);
  });

  it('is asked for its records once a day, however many pages are read', () => {
    const askedFor: string[] = [];
    const records = (day: string) => {
      askedFor.push(day);
      return Array.from({ length: 1000 }, (_, id) => ({ id }));
    };
    const simulator = createSimulator({
      ...numbered(0),
      endpoints: { numbers: { paginated: true, records } },
    });
    for (let offset = 0; offset < 1000; offset++) ask(simulator, `numbers?offset=${offset}`);
    simulator.advanceDay();
    ask(simulator, 'numbers');
    expect(askedFor).toEqual(['2026-01-31', '2026-02-01']);
  });

  it('may make its records when asked instead of holding them', () => {
    const made: number[] = [];
    const at = (index: number) => {
      made.push(index);
      return { id: index };
    };
    const simulator = createSimulator({
      endpoints: { huge: { paginated: true, records: () => ({ length: 5_000_000, at }) } },
    });
    const { data, pagination } = ask(simulator, 'huge?limit=2&offset=4999997');
    expect(data).toEqual([{ id: 4_999_997 }, { id: 4_999_998 }]);
    expect(pagination).toMatchObject({ total: 5_000_000, hasMore: true });
    expect(made).toEqual([4_999_997, 4_999_998]);
  });

  it('keeps edits on later days', () => {
    const simulator = createSimulator(numbered(3));
    simulator.editRecords('numbers', (records) => records.slice(1));
    expect(ask(simulator, 'numbers').data).toEqual([{ id: 1 }, { id: 2 }]);
    simulator.advanceDay();
    simulator.editRecords('numbers', (records) => [...records, { id: 'new' }]);
    expect(ask(simulator, 'numbers').data).toEqual([{ id: 1 }, { id: 2 }, { id: 'new' }]);
    expect(() => simulator.editRecords('nowhere', (records) => records)).toThrow(RangeError);
  });
});
