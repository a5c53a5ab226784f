import type { PagingDescription, PagingKind } from '../model/paging.ts';
import { createCursorOrder } from './cursor-order.ts';
import { createLinkOrder } from './link-order.ts';
import { createOffsetOrder } from './offset-order.ts';
import { createPageNumberOrder } from './page-number-order.ts';
import type { PageOrder } from './page-order.ts';

type Orders = {
  readonly [K in PagingKind]: (paging: PagingDescription<K>) => PageOrder;
};

/** Every order of pages, by the kind that a connector's `paging` gives. */
const orders: Orders = {
  offset: createOffsetOrder,
  cursor: createCursorOrder,
  'page-number': createPageNumberOrder,
  link: createLinkOrder,
};

/** Every kind of `paging`. */
export const pagingKinds: readonly string[] = Object.keys(orders);

/** The order of pages that a connector describes. */
export function orderOf<K extends PagingKind>(paging: PagingDescription<K>): PageOrder {
  return orders[paging.kind](paging);
}
