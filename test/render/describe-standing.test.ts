import { expect, it } from 'vitest';
import type { StreamStatusRow } from '../../src/model/reports.ts';
import { describeStanding } from '../../src/render/describe-standing.ts';

const row = (stream: string) =>
  ({ stream, slice: '', isUnpublished: true, keyState: undefined }) as StreamStatusRow;

it.each([
  [false, 1, 'a is committed, but not published yet: the next sync publishes it.'],
  [
    true,
    1,
    'a is committed, but not published yet: the current run publishes it when it waits for the quota, or ends.',
  ],
  [
    true,
    2,
    'a, b are committed, but not published yet: the current run publishes them when it waits for the quota, or ends.',
  ],
])('says who publishes what is committed; a current run: %s', (isUnderWay, count, expected) => {
  const [said] = describeStanding(['a', 'b'].slice(0, count).map(row), isUnderWay);
  expect(said).toBe(expected);
});
