import { describe, expect, it } from 'vitest';
import { createRowsFlow, dateOf, type Row } from '../support/rows-api.ts';
import { noBuiltIns } from '../support/sync-harness.ts';

/** A value as it is written; numbers in their own spelling. */
const raw = (text: string): unknown =>
  /^[[{]/.test(text)
    ? JSON.parse(text)
    : (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text);

const DAYS = [
  ['0.1', '1.25', '3', '1e-7', '-0.50'],
  ['12345678901234567890.123456789', '2'],
  ['1e30', '0.3'],
  ['null', '7'],
];
const listRows = (day: number, days: readonly (readonly string[])[] = DAYS): readonly Row[] =>
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

  it('stay in their column when other values come, which go next to it as they are', async () => {
    const others = ['"n/a"', 'true', '{"a":1}', '[1.5]', '"7.5"', '1e300'];
    const days = [
      ['1.125', '2.5', '3', '4.25'],
      [...others, '8.75'],
      ['9.5', '10'],
    ];
    const rowsFlow = createRowsFlow({ rows: (day) => listRows(day, days) }, stream);
    for (const day of days.keys()) {
      const { exitCode, streams } = await rowsFlow.syncAfter(day === 0 ? 0 : 1);
      expect({ exitCode, error: streams[0]?.error }).toEqual({ exitCode: 0, error: undefined });
    }
    const { columns, rows } = await rowsFlow.flow.table('items');
    expect(columns['price']).toBe('DECIMAL(38,3)');
    expect(rows.map(({ price }) => price).filter((price) => (price ?? null) !== null)).toEqual([
      '1.125',
      '2.500',
      '3.000',
      '4.250',
      '8.750',
      '9.500',
      '10.000',
    ]);
    expect(rows.map((row) => row['price__text']).filter((text) => (text ?? null) !== null)).toEqual([
      'n/a',
      'true',
      '{"a":1}',
      '[1.5]',
      '7.5',
      '1e+300',
    ]);
  });

  it.each([
    { before: 'exact', prices: ['1.125', '2.5', '3'] },
    { before: 'double', prices: ['0.1234567890123456789', '5.5123456789012345678'] },
  ] as const)(
    'stay in a DECIMAL that a column is already, where doubles are enough ($before)',
    async ({ before, prices }) => {
      const days = [prices, ['7.5', '8', '"n/a"', '0.1234567890123456789']];
      const items = { path: 'items', paginated: true, key: ['date', 'id'] };
      const rowsFlow = createRowsFlow(
        { rows: (day) => listRows(day, days).map(({ mixed: _, ...row }) => row) },
        { ...items, decimals: before },
      );
      expect((await rowsFlow.syncAfter(0)).exitCode).toBe(0);
      const streams = { ...noBuiltIns, items: { ...items, decimals: 'double' as const } };
      expect((await rowsFlow.syncAfter(1, { config: { streams } })).exitCode).toBe(0);
      const { columns, rows } = await rowsFlow.flow.table('items');
      expect(columns['price']).toMatch(/^DECIMAL/);
      expect(rows.map(({ price, price__text: text }) => (text ?? price) as string)).toEqual(
        days
          .flat()
          .map((text) =>
            text.startsWith('"') ? text.replaceAll('"', '') : (expect.stringContaining(text) as unknown),
          ),
      );
      expect(rows.filter((row) => (row['price__text'] ?? null) !== null)).toHaveLength(1);
    },
  );
});
