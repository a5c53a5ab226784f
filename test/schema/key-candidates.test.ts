import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ColumnType } from '../../src/model/schema.ts';
import { type CandidateColumn, chooseCursorCandidate, proposeKeys } from '../../src/schema/key-candidates.ts';

function column(name: string, type: ColumnType, more: Partial<CandidateColumn> = {}): CandidateColumn {
  return { name, type, alwaysFilled: true, longestText: type === 'VARCHAR' ? 20 : 0, ...more };
}

describe('chooseCursorCandidate', () => {
  const choose = (...columns: readonly CandidateColumn[]) => chooseCursorCandidate(columns);

  it('prefers a date named like one', () => {
    expect(choose(column('launched', 'DATE'), column('date', 'DATE'))).toBe('date');
    expect(choose(column('created_at', 'TIMESTAMPTZ'), column('report_date', 'DATE'))).toBe('report_date');
    expect(choose(column('meta__date', 'DATE'), column('day', 'DATE'))).toBe('day');
  });

  it('takes the time of an event when there is no date', () => {
    expect(choose(column('created_at', 'TIMESTAMPTZ'))).toBe('created_at');
    expect(choose(column('timestamp', 'TIMESTAMP'), column('created_at', 'TIMESTAMPTZ'))).toBe('timestamp');
  });

  it.each(['updated_at', 'last_modified', 'synced_at', 'last_seen', 'expires_at', 'modified_date'])(
    'never takes %s',
    (name) => {
      expect(choose(column(name, 'TIMESTAMPTZ'), column(name, 'DATE'))).toBeUndefined();
    },
  );

  it('takes no column that a record lacked, nor one that is not a date', () => {
    expect(choose(column('date', 'DATE', { alwaysFilled: false }))).toBeUndefined();
    expect(choose(column('date', 'VARCHAR'), column('day', 'BIGINT'))).toBeUndefined();
    expect(choose(column('approved', 'TIMESTAMPTZ'))).toBeUndefined();
  });
});

describe('proposeKeys', () => {
  const columns = [
    column('id', 'BIGINT'),
    column('date', 'DATE'),
    column('rank', 'BIGINT'),
    column('platform', 'VARCHAR'),
    column('mentions', 'BIGINT'),
    column('score', 'DOUBLE'),
    column('price', 'DECIMAL(38,2)'),
    column('tags', 'JSON'),
    column('is_active', 'BOOLEAN'),
    column('title', 'VARCHAR'),
    column('answer', 'VARCHAR'),
    column('url', 'VARCHAR'),
    column('name', 'VARCHAR', { longestText: 400 }),
    column('region', 'VARCHAR', { alwaysFilled: false }),
    column('updated_at', 'TIMESTAMPTZ'),
    column('last_seen_id', 'VARCHAR'),
  ];

  it('never proposes floats, measures, flags, lists, free text or times of last change', () => {
    const used = new Set(proposeKeys(columns, 'date').flat());
    expect([...used].toSorted()).toEqual(['date', 'id', 'platform', 'rank']);
  });

  it('puts the cursor into every proposal, and the likeliest small ones first', () => {
    const proposals = proposeKeys(columns, 'date');
    expect(proposals.every(([first]) => first === 'date')).toBe(true);
    expect(proposals.slice(0, 4)).toEqual([['date'], ['date', 'id'], ['date', 'platform'], ['date', 'rank']]);
  });

  it('proposes ids before names, and both before ordinals, without a cursor', () => {
    const without = columns.filter(({ name }) => name !== 'date');
    expect(proposeKeys(without, undefined).slice(0, 3)).toEqual([['id'], ['platform'], ['rank']]);
  });

  it('proposes nothing where no column names a thing', () => {
    expect(proposeKeys([column('score', 'DOUBLE'), column('clicks', 'BIGINT')], undefined)).toEqual([]);
  });

  it('stays bounded with hundreds of candidates', () => {
    const many = Array.from({ length: 500 }, (_, at) => column(`part_${at}_id`, 'VARCHAR'));
    const proposals = proposeKeys([...many, column('date', 'DATE')], 'date');
    expect(proposals.length).toBe(1 + 12 + 66 + 220 + 495);
    expect(Math.max(...proposals.map((set) => set.length))).toBe(5);
  });

  it('grows its proposals by size, each set once and each column in it once', () => {
    const candidate = fc.record({
      name: fc.constantFrom('id', 'sku', 'rank', 'name', 'day', 'platform', 'page', 'code'),
      type: fc.constantFrom<ColumnType>('BIGINT', 'VARCHAR', 'DATE', 'DOUBLE', 'TIMESTAMPTZ'),
      alwaysFilled: fc.boolean(),
      longestText: fc.nat({ max: 300 }),
    });
    const list = fc.uniqueArray(candidate, { selector: ({ name }) => name, maxLength: 8 });
    fc.assert(
      fc.property(list, (candidates) => {
        const cursor = chooseCursorCandidate(candidates);
        const proposals = proposeKeys(candidates, cursor);
        const sizes = proposals.map((set) => set.length);
        expect(sizes).toEqual(sizes.toSorted((a, b) => a - b));
        const sets = proposals.map((set) => set.toSorted().join());
        expect(new Set(sets).size).toBe(sets.length);
        for (const set of proposals) {
          expect(new Set(set).size).toBe(set.length);
          if (cursor !== undefined) expect(set).toContain(cursor);
          for (const name of set) {
            const { type, alwaysFilled } = candidates.find((other) => other.name === name) ?? {};
            expect(alwaysFilled).toBe(true);
            expect(type).not.toBe('DOUBLE');
          }
        }
      }),
    );
  });
});
