import { expect, it } from 'vitest';
import { describeSharedKeys, isOfSharedKeys } from '../../src/model/run-report.ts';
import { formatCount, formatCountOf, verbOf } from '../../src/text/format-count.ts';

it.each([
  [0, '0'],
  [999, '999'],
  [1_000, '1,000'],
  [1_234_567, '1,234,567'],
  [undefined, '-'],
])('a count of %s is %s', (count, text) => expect(formatCount(count)).toBe(text));

it('agrees with its noun and its verb', () => {
  const tell = (count: number) => `${formatCountOf(count, 'entry', 'entries')} ${verbOf(count, 'is', 'are')}`;
  expect([0, 1, 2_000].map(tell)).toEqual(['0 entries are', '1 entry is', '2,000 entries are']);
  expect(formatCountOf(1, 'row')).toBe('1 row');
});

it('is known for a reason of shared keys, one or many', () => {
  const reasons = [describeSharedKeys(2, 1), describeSharedKeys(3_000, 2)];
  expect(reasons).toEqual([
    '1 distinct key in 2 records: 1 shares the key of another',
    '2,998 distinct keys in 3,000 records: 2 share the key of another',
  ]);
  expect(reasons.every(isOfSharedKeys)).toBe(true);
});
