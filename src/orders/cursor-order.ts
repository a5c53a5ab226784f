import type { CursorPaging } from '../model/paging.ts';
import { isSet, readCount, readNext } from './envelope.ts';
import { followNext, PAGES_APART } from './chain.ts';
import type { PageOrder } from './page-order.ts';

/** Pages that name the next one in their envelope. */
export function createCursorOrder(paging: CursorPaging): PageOrder {
  const { limitParam, cursorParam, next, total } = paging;
  return {
    walk: 'chained',
    doubt: paging.namesRecord === true ? undefined : PAGES_APART,
    ownParams: [limitParam, cursorParam],
    morePointer: next,
    query: ({ next: cursor }, limit) => ({
      [limitParam]: String(limit),
      ...(cursor === undefined ? {} : { [cursorParam]: cursor }),
    }),
    read({ value }) {
      const named = readNext(value, next);
      return {
        total: total === undefined ? undefined : readCount(value, total),
        hasMore: named !== undefined,
        next: named,
      };
    },
    follow: followNext,
    pick: () => undefined,
    announces: (_, found) => isSet(found) || (found?.kind === 'string' && found.text !== '""'),
  };
}
