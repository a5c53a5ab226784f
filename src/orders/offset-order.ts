import type { OffsetPaging } from '../model/paging.ts';
import { EnvelopeError, isSet, readCount, readFlag } from './envelope.ts';
import type { PageOrder } from './page-order.ts';

/** Pages by limit and offset. */
export function createOffsetOrder(paging: OffsetPaging): PageOrder {
  const { limitParam, offsetParam } = paging;
  return {
    walk: 'overlapping',
    ownParams: [limitParam, offsetParam],
    morePointer: paging.hasMore,
    query: ({ offset }, limit) => ({ [limitParam]: String(limit), [offsetParam]: String(offset) }),
    read({ value, offset }) {
      const echoed = readCount(value, paging.offset);
      if (echoed !== undefined && echoed !== offset)
        throw new EnvelopeError(`asked for offset ${offset}, the answer is for offset ${echoed}`);
      const total = readCount(value, paging.total);
      const hasMore = readFlag(value, paging.hasMore);
      // The flag is only needed without a total: something must show where the data ends.
      if (hasMore === undefined && total === undefined)
        throw new EnvelopeError(
          `neither ${paging.hasMore} (a boolean) nor the total says where the data ends`,
        );
      return { total, hasMore };
    },
    follow: ({ offset, records, hasMore }) =>
      hasMore === true && records.length > 0 ? { offset: offset + records.length } : undefined,
    pick: (offset) => ({ offset }),
    announces: (_, found) => isSet(found),
  };
}
