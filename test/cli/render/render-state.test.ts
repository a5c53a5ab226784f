import { expect, it } from 'vitest';
import { describeChanges } from '../../../src/cli/render/render-state.ts';
import type { StateChange } from '../../../src/model/state-report.ts';

it('says once that a table is dropped, which the slices of a stream share', () => {
  const forget = (slice: string): StateChange => ({
    stream: 'items',
    slice,
    what: 'forgotten',
    watermarkBefore: undefined,
    watermarkAfter: undefined,
    rowsDropped: 1_200,
  });
  expect(describeChanges([forget('entity=acme'), forget('entity=globex')])).toEqual([
    'items (entity=acme): forgets its checkpoint; drops the table of items with 1,200 rows',
    'items (entity=globex): forgets its checkpoint',
  ]);
  expect(describeChanges([forget('')])).toEqual([
    'items: forgets its checkpoint; drops its table with 1,200 rows',
  ]);
});
