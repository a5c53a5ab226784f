import { describe, expect, it } from 'vitest';
import { type AccountTable, joinDbtTables } from '../../src/contract/join-dbt-tables.ts';

const JOINED = {
  table: 'items',
  columns: [
    { name: '_account', type: 'VARCHAR' },
    { name: 'id', type: 'BIGINT' },
    { name: 'account', type: 'VARCHAR' },
  ],
} as const;

function makePart(part: Partial<AccountTable> = {}): AccountTable {
  return {
    description: 'Things.',
    stream: 'items',
    table: 'items',
    key: ['id'],
    uniqueBy: ['id'],
    neverNull: new Set(['id']),
    lateAfterHours: 36,
    columns: [
      {
        name: 'id',
        type: 'BIGINT',
        field: 'itemId',
        description: 'Its number.',
        unit: undefined,
        required: true,
      },
    ],
    ...part,
  };
}

describe('a table of several accounts, for dbt', () => {
  it('has the key of its accounts in each of them, and the fields of their columns', () => {
    const joined = joinDbtTables(JOINED, [makePart(), makePart()]);
    expect(joined.key).toEqual(['_account', 'id']);
    expect(joined.uniqueBy).toEqual(['_account', 'id']);
    expect(joined.columns.map(({ name, field, description }) => [name, field, description])).toEqual([
      ['_account', undefined, undefined],
      ['id', 'itemId', 'Its number.'],
      ['account', undefined, undefined],
    ]);
    expect(joined.description).toBe('Things.');
  });

  it('has no key where accounts have different ones, or one has none', () => {
    for (const uniqueBy of [['name'], undefined]) {
      const joined = joinDbtTables(JOINED, [makePart(), makePart({ key: uniqueBy, uniqueBy })]);
      expect([joined.key, joined.uniqueBy]).toEqual([undefined, undefined]);
    }
  });

  it('has no nulls only where no account may have one', () => {
    const joined = joinDbtTables(JOINED, [makePart(), makePart({ neverNull: new Set() })]);
    expect([...joined.neverNull]).toEqual(['_account']);
  });

  it('is late once the slowest of its accounts is', () => {
    const joined = joinDbtTables(JOINED, [makePart(), makePart({ lateAfterHours: 252 })]);
    expect(joined.lateAfterHours).toBe(252);
  });
});
