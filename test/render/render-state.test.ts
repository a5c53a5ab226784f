import { expect, it } from 'vitest';
import { describeChanges } from '../../src/render/render-state.ts';
import type { StateChange } from '../../src/model/state-report.ts';

it('says which table is dropped', () => {
  const forget = (slice: string, rowsDropped?: number): StateChange => ({
    stream: 'items',
    slice,
    what: 'forgotten',
    watermarkBefore: undefined,
    watermarkAfter: undefined,
    rowsDropped,
  });
  expect(describeChanges([forget('entity=acme', 1_200), forget('entity=globex')])).toEqual([
    'items (entity=acme): forgets its checkpoint; drops the table of items with 1,200 rows',
    'items (entity=globex): forgets its checkpoint',
  ]);
  expect(describeChanges([forget('', 1_200)])).toEqual([
    'items: forgets its checkpoint; drops its table with 1,200 rows',
  ]);
});
