import type { PageNumberPaging } from '../model/paging.ts';
import { followNext, PAGES_APART } from './chain.ts';
import { EnvelopeError, isSet, readCount, readFlag } from './envelope.ts';
import type { PageAnswer, PageOrder } from './page-order.ts';

/** Pages by number: each holds as many records as the first one, and they do not overlap. */
export function createPageNumberOrder(paging: PageNumberPaging): PageOrder {
  const { limitParam, pageParam, firstPage = 1 } = paging;

  // By the first of these that the answer has; without any, an empty page shows where the data ends.
  function hasMore(answer: PageAnswer, page: number, total: number | undefined): boolean {
    const { url, value, offset, count } = answer;
    const flag = paging.hasMore === undefined ? undefined : readFlag(value, paging.hasMore);
    if (flag !== undefined) return flag;
    const pages = paging.pages === undefined ? undefined : readCount(value, paging.pages);
    if (pages !== undefined) return page - firstPage + 1 < pages;
    if (count === 0) return false;
    // A server may send fewer records than it was asked for: a short page is not the last one.
    if (total === undefined || offset + count < total) return true;
    // A full page that ends at the total does not show that nothing follows: it may be the page's own count.
    return count >= Number(url.searchParams.get(limitParam) ?? Infinity);
  }

  return {
    walk: 'chained',
    doubt: PAGES_APART,
    ownParams: [limitParam, pageParam],
    morePointer: paging.hasMore,
    query: ({ next }, limit) => ({ [limitParam]: String(limit), [pageParam]: next ?? String(firstPage) }),
    read(answer) {
      const { value, url } = answer;
      const page = Number(url.searchParams.get(pageParam) ?? firstPage);
      const echoed = paging.page === undefined ? undefined : readCount(value, paging.page);
      if (echoed !== undefined && echoed !== page)
        throw new EnvelopeError(`asked for page ${page}, the answer is for page ${echoed}`);
      const total = paging.total === undefined ? undefined : readCount(value, paging.total);
      const isMore = hasMore(answer, page, total);
      return { total, hasMore: isMore, next: isMore ? String(page + 1) : undefined };
    },
    follow: followNext,
    pick(position, size) {
      const at = Math.floor(position / Math.max(1, size));
      return { offset: at * Math.max(1, size), next: String(firstPage + at) };
    },
    announces: (_, found) => isSet(found),
  };
}
