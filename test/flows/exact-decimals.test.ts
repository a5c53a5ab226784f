import { describe, expect, it } from 'vitest';
import { createRowsFlow, dateOf, type Row } from '../support/rows-api.ts';
import { noBuiltIns } from '../support/sync-harness.ts';

/** A number as it is written. */
const raw = (text: string): unknown => (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text);

const DAYS = [
  ['0.1', '1.25', '3', '1e-7', '-0.50'],
  ['12345678901234567890.123456789', '2'],
  ['1e30', '0.3'],
  ['null', '7'],
];
const listRows = (day: number, days = DAYS): readonly Row[] =>
  days.slice(0, day + 1).flatMap((prices, at) =>
    prices.map((price, id) => ({
      date: dateOf(at),
      id,
      price: raw(price),
      whole: id,
      mixed: id === 0 ? 'n/a' : raw('0.5'),
    })),
  );
const stream = { key: ['date', 'id'], decimals: 'exact' } as const;

describe('decimals that are to be exact', () => {
  it('are DECIMAL with the decimals that values have, and more of them when values have more', async () => {
    const rowsFlow = createRowsFlow({ rows: listRows }, stream);
    const prices = async () => {
      const { columns, rows } = await rowsFlow.flow.table('items');
      return [columns['price'], ...rows.map(({ price, price__text: text }) => price ?? text)];
    };
    expect((await rowsFlow.syncAfter(0)).exitCode).toBe(0);
    expect(await prices()).toEqual([
      'DECIMAL(38,7)',
      '0.1000000',
      '1.2500000',
      '3.0000000',
      '0.0000001',
      '-0.5000000',
    ]);
    expect((await rowsFlow.flow.table('items')).columns).toMatchObject({ whole: 'BIGINT', mixed: 'VARCHAR' });
    expect((await rowsFlow.syncAfter(1)).exitCode).toBe(0);
    expect((await prices())[0]).toBe('DECIMAL(38,9)');
    expect(await prices()).toContain('12345678901234567890.123456789');
    expect(await prices()).toContain('0.000000100');
    expect((await rowsFlow.syncAfter(1)).exitCode).toBe(0);
    expect((await prices())[0]).toBe('DECIMAL(38,9)');
    expect(await prices()).toContain('1e+30');
    expect((await rowsFlow.syncAfter(1)).exitCode).toBe(0);
    expect(await prices()).toContain('7.000000000');
    const before = await rowsFlow.flow.rows('items');
    await rowsFlow.flow.rebuild();
    expect(await rowsFlow.flow.rows('items')).toHaveLength(before.length);
  });

  it('are text where no decimal has room for all of them', async () => {
    const rowsFlow = createRowsFlow(
      { rows: (day) => listRows(day, [['1e400', '0.1', '1e300', '0.12345678901234567890123456789']]) },
      stream,
    );
    expect((await rowsFlow.syncAfter(0)).exitCode).toBe(0);
    const { columns, rows } = await rowsFlow.flow.table('items');
    expect(columns['price']).toBe('VARCHAR');
    expect(rows.map(({ price }) => price)).toEqual([
      '1e400',
      '0.1',
      '1e+300',
      '0.12345678901234567890123456789',
    ]);
  });

  it('change the columns that are there, with all their values', async () => {
    const days = [['0.1', '1.25', '123456.789', '5e-7'], ['2.5']];
    const rowsFlow = createRowsFlow(
      { rows: (day) => listRows(day, days) },
      { key: ['date', 'id'], history: true },
    );
    expect((await rowsFlow.syncAfter(0)).exitCode).toBe(0);
    expect((await rowsFlow.flow.table('items')).columns['price']).toBe('DOUBLE');
    const streams = {
      ...noBuiltIns,
      items: {
        path: 'items',
        paginated: true,
        key: ['date', 'id'],
        history: true,
        decimals: 'exact' as const,
      },
    };
    expect((await rowsFlow.syncAfter(1, { config: { streams } })).exitCode).toBe(0);
    for (const table of ['items', 'items_history']) {
      const { columns, rows } = await rowsFlow.flow.table(table);
      expect(columns['price']).toBe('DECIMAL(38,7)');
      expect(rows.map(({ price }) => price).toSorted()).toEqual([
        '0.0000005',
        '0.1000000',
        '1.2500000',
        '123456.7890000',
        '2.5000000',
      ]);
    }
  });
});
