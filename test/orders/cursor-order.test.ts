import { expect, it } from 'vitest';
import { createCursorOrder } from '../../src/orders/cursor-order.ts';

const paging = {
  limitParam: 'limit',
  cursorParam: 'after',
  records: '/data',
  next: '/next',
  total: '/total',
};

it('a cursor proves several pages only where it names a record', () => {
  expect(createCursorOrder(paging).doubt).toMatch(/do not overlap/);
  expect(createCursorOrder({ ...paging, namesRecord: true }).doubt).toBeUndefined();
});
