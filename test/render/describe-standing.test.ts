import { expect, it } from 'vitest';
import type { StreamStatusRow } from '../../src/model/reports.ts';
import { describeStanding, type Publishing } from '../../src/render/describe-standing.ts';

const row = (stream: string) =>
  ({ stream, slice: '', isUnpublished: true, keyState: undefined }) as StreamStatusRow;

it.each<[Publishing, number, string]>([
  ['refused', 1, 'a is committed, but not published yet: the next sync that is not refused publishes it.'],
  ['next', 1, 'a is committed, but not published yet: the next sync publishes it.'],
  [
    'under way',
    1,
    'a is committed, but not published yet: the current run publishes it when it waits for the quota, or ends.',
  ],
  [
    'under way',
    2,
    'a, b are committed, but not published yet: the current run publishes them when it waits for the quota, or ends.',
  ],
])('says who publishes what is committed: %s', (publishing, count, expected) => {
  const [said] = describeStanding(['a', 'b'].slice(0, count).map(row), publishing);
  expect(said).toBe(expected);
});

it.each([
  [['a'], 'The state of a was reset: '],
  [['a', 'b'], 'The state of a, b were reset: '],
  [['a', 'b', 'c', 'd'], 'The state of a, b, c and 1 more stream were reset: '],
])('says of %j that their state is reset', (names, expected) => {
  const rows = names.map((name) => ({ ...row(name), isUnpublished: undefined, isReset: true as const }));
  expect(describeStanding(rows, 'next')[1]).toContain(expected);
});

it.each([
  ['partial', 'Not read to the end, as with --limit: a. The next sync reads on.'],
  ['drifted', 'The data moved while it was read: a. Rows may be missing until the next sync.'],
] as const)('says what %s means where no error does', (verdict, expected) => {
  const settled = { ...row('a'), isUnpublished: undefined, verdict };
  const failed = { ...settled, unsettled: { status: 'failed' } } as unknown as StreamStatusRow;
  expect(describeStanding([settled], 'next')).toContain(expected);
  expect(describeStanding([failed], 'next')).not.toContain(expected);
});
