import type { CursorPaging } from '../model/paging.ts';
import { isSet, readCount, readNext } from './envelope.ts';
import { followNext } from './chain.ts';
import type { PageOrder } from './page-order.ts';

/** Pages that name the next one in their envelope. */
export function createCursorOrder({ limitParam, cursorParam, next, total }: CursorPaging): PageOrder {
  return {
    walk: 'chained',
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
