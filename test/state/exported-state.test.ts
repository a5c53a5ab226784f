import { describe, expect, it } from 'vitest';
import type { CountedRows } from '../../src/model/stream.ts';
import { checkpointSchema } from '../../state/exported-state.ts';

/** Every field that a count may have: one that is added has to be named here, or this does not compile. */
const counts: Required<CountedRows> = {
  at: '2026-01-05T10:00:00.000Z',
  inApi: 177,
  inTable: 205,
  kept: 30,
  suspected: 3,
  suspectedOn: { '2026-01-03': 2, '2026-01-04': 1 },
  oldest: { date: '2025-12-01', left: 25, inside: 5 },
  unloaded: 2,
  quarantined: 1,
  difference: 2,
  broughtForwardAt: '2026-01-04T10:00:00.000Z',
  uncountedAt: '2026-01-04T10:00:00.000Z',
};

describe('an exported checkpoint', () => {
  it('keeps all that is known of its counts', () => {
    const checkpoint = {
      stream: 'items',
      slice: '',
      fingerprint: 'f',
      keyProvedOn: [],
      contractDays: [],
      runId: 'r',
      counts,
    };
    const text = JSON.stringify(checkpoint);
    expect(checkpointSchema.parse(JSON.parse(text)).counts).toEqual(counts);
  });
});
