import { expect, it } from 'vitest';
import { settleDropped } from '../../src/load/settle-counts.ts';
import type { CountedRows } from '../../src/model/stream.ts';

const before: CountedRows = {
  at: '2026-01-31T12:00:00.000Z',
  inApi: 7,
  inTable: 10,
  kept: 1,
  suspected: 3,
  suspectedOn: { '2026-01-20': 1, '2026-01-25': 2 },
  oldest: { date: '2026-01-01', left: 0, inside: 1 },
  unloaded: 0,
  quarantined: 0,
  difference: 0,
};

it('counts rows as kept once their day is no longer read, and only once', () => {
  const stream = { deletes: 'keep', write: 'merge', maxDeleteRatio: 0.5 } as const;
  const settled = settleDropped(before, stream, '2026-01-21');
  const expected = {
    ...before,
    suspected: 2,
    suspectedOn: { '2026-01-25': 2 },
    kept: 2,
    oldest: { date: '2026-01-01', left: 0, inside: 2 },
  };
  expect(settled).toEqual(expected);
  // A scan that is not trusted keeps what was settled.
  expect(settleDropped(settled, stream, '2026-01-21')).toEqual(expected);
});

it.each(['hard', 'soft'] as const)('counts them as rows too many with deletes: %s', (deletes) => {
  const stream = { deletes, write: 'merge', maxDeleteRatio: 0.5 } as const;
  const settled = settleDropped(before, stream, '2026-01-21');
  const expected = { ...before, suspected: 2, suspectedOn: { '2026-01-25': 2 }, difference: -1 };
  expect(settled).toEqual(expected);
  expect(settleDropped(settled, stream, '2026-01-21')).toEqual(expected);
});

it.each(['hard', 'soft'] as const)(
  'hides no missing rows behind rows too many with deletes: %s',
  (deletes) => {
    const stream = { deletes, write: 'merge', maxDeleteRatio: 0.5 } as const;
    const settled = settleDropped({ ...before, difference: 1 }, stream, '2026-01-26');
    expect(settled).toMatchObject({ suspected: 0, suspectedOn: {}, kept: 4, difference: 1 });
  },
);

it('counts rows too many that are more than may be deleted', () => {
  const stream = { deletes: 'hard', write: 'merge', maxDeleteRatio: 0.1 } as const;
  const settled = settleDropped({ ...before, difference: 1 }, stream, '2026-01-26');
  expect(settled).toMatchObject({ suspected: 0, kept: 1, difference: -2 });
});

it.each([
  ['days were chosen by hand', before, undefined],
  ['nothing was counted', undefined, '2026-01-21'],
] as const)('changes nothing where %s', (_, held, date) => {
  expect(settleDropped(held, { deletes: 'keep', write: 'merge', maxDeleteRatio: 0.5 }, date)).toBe(held);
});
