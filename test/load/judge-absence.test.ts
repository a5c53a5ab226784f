import { describe, expect, it } from 'vitest';
import { type AbsenceFacts, judgeAbsence } from '../../src/load/judge-absence.ts';
import type { CountedRows } from '../../src/model/stream.ts';

const before: CountedRows = {
  at: '2026-01-31T12:00:00.000Z',
  inApi: 10,
  inTable: 10,
  kept: 0,
  suspected: 0,
  unloaded: 0,
  quarantined: 0,
  difference: 0,
};

// Ten rows, two of which did not come: eight are left, and the API counts eight.
const facts: AbsenceFacts = {
  counted: { rows: 8, canReadInFull: true, again: () => Promise.reject(new Error('not asked')) },
  isPaginated: true,
  replaces: false,
  change: {
    held: 10,
    inserted: 0,
    updated: 0,
    unchanged: 8,
    deleted: 2,
    markedGone: 0,
    returned: 0,
    superseded: 0,
  },
  before,
  quarantined: 0,
  missing: 0,
};
const counting = (rows: number | null): AbsenceFacts['counted'] => ({ ...facts.counted!, rows });
const once = (rows: number): AbsenceFacts['counted'] => ({ rows, canReadInFull: true });

describe('rows that were not returned', () => {
  it.each<readonly [string, Partial<AbsenceFacts>, string]>([
    ['are deleted once the count confirms it', {}, 'apply'],
    ['are counted again before anything else', { counted: counting(9) }, 'recount'],
    ['stay where the count does not confirm it', { counted: once(9) }, 'keep'],
    [
      'are read in full where days without a key are replaced',
      { counted: once(9), replaces: true },
      'read-in-full',
    ],
    ['stay where the API has no count', { counted: counting(null) }, 'keep'],
    [
      'may be the very rows that were missing before',
      { counted: counting(9), before: { ...before, difference: 1 } },
      'recount',
    ],
    [
      'are deleted next to rows too many that are known',
      { counted: counting(7), before: { ...before, difference: -1 } },
      'apply',
    ],
    ['need a count that nothing is known to compare with', { before: undefined }, 'recount'],
    [
      'are not gone where newer versions took their places',
      { change: { ...facts.change, superseded: 2 } },
      'apply',
    ],
    ['were not asked about in an old archive', { counted: undefined }, 'apply'],
  ])('%s', (_, parts, kind) => {
    expect(judgeAbsence({ ...facts, ...parts }).kind).toBe(kind);
  });
});
