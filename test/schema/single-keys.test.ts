import { describe, expect, it } from 'vitest';
import type { ColumnType } from '../../src/model/schema.ts';
import type { CandidateColumn } from '../../src/schema/key-candidates.ts';
import { areDaysEnough, proposeSingleKeys, UUID_SHAPE } from '../../src/schema/single-keys.ts';

function column(name: string, type: ColumnType, more: Partial<CandidateColumn> = {}): CandidateColumn {
  return { name, type, alwaysFilled: true, longestText: type === 'VARCHAR' ? 20 : 0, ...more };
}

describe('proposeSingleKeys', () => {
  it('takes ids by their name and UUIDs by their length, likeliest first', () => {
    const columns = [
      column('date', 'DATE'),
      column('origin', 'VARCHAR', { longestText: 36 }),
      column('meta__id', 'VARCHAR'),
      column('mention_id', 'VARCHAR'),
      column('id', 'BIGINT'),
    ];
    expect(proposeSingleKeys(columns, 'date')).toEqual([
      { name: 'id', isByShape: false },
      { name: 'mention_id', isByShape: false },
      { name: 'meta__id', isByShape: false },
      { name: 'origin', isByShape: true },
    ]);
  });

  it.each([
    column('rank', 'BIGINT'),
    column('row_number', 'BIGINT'),
    column('mentions', 'BIGINT'),
    column('name', 'VARCHAR'),
    column('created_at', 'TIMESTAMPTZ'),
    column('last_seen_id', 'VARCHAR'),
    column('score_id', 'DOUBLE'),
    column('id', 'VARCHAR', { longestText: 200 }),
    column('id', 'VARCHAR', { alwaysFilled: false }),
    column('url', 'VARCHAR', { longestText: 36 }),
  ])('never takes $name of $type', (one) => {
    expect(proposeSingleKeys([one], 'date')).toEqual([]);
  });

  it('knows a UUID from other text of its length', () => {
    const shape = new RegExp(UUID_SHAPE);
    expect(shape.test('0190F5fe-7c00-7a00-8000-000000000001')).toBe(true);
    expect(shape.test('a sentence with thirty-six characters')).toBe(false);
  });
});

describe('areDaysEnough', () => {
  it.each<readonly [string, readonly number[], boolean]>([
    ['no rows', [], false],
    ['one day', [5_000], false],
    ['two days', [5_000, 5_000], false],
    ['three days of a few rows', [4, 4, 4], false],
    ['three days of some', [5, 5, 5], true],
    ['a row on each of five days', [1, 1, 1, 1, 1], false],
    ['a row on each of six', [1, 1, 1, 1, 1, 1], true],
    ['all but a few on one day', [5_000, 2, 2], false],
  ])('%s', (_, rows, isEnough) => {
    expect(areDaysEnough(rows)).toBe(isEnough);
  });
});
