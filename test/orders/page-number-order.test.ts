import { describe, expect, it } from 'vitest';
import type { PageNumberPaging } from '../../src/model/paging.ts';
import { createPageNumberOrder } from '../../src/orders/page-number-order.ts';

const plain: PageNumberPaging = { limitParam: 'per_page', pageParam: 'page', records: '/data' };
const all: PageNumberPaging = { ...plain, total: '/total', pages: '/pages', page: '/page', hasMore: '/more' };

function read(paging: PageNumberPaging, page: number, value: object, { offset = 0, count = 10 } = {}) {
  const url = new URL(`https://api.example.com/v1/items?per_page=10&page=${page}`);
  return createPageNumberOrder(paging).read({ url, headers: {}, value, offset, count });
}

describe('pages by number', () => {
  it('begin with 1, or with 0', () => {
    expect(createPageNumberOrder(plain).query({ offset: 0 }, 10)).toEqual({ per_page: '10', page: '1' });
    const zero = createPageNumberOrder({ ...plain, firstPage: 0 });
    expect(zero.query({ offset: 0 }, 10)).toEqual({ per_page: '10', page: '0' });
    expect(zero.query({ offset: 10, next: '1' }, 10)).toEqual({ per_page: '10', page: '1' });
  });

  it.each([
    ['a flag', all, 1, { more: true, pages: 1, total: 10 }, {}, '2'],
    ['a flag that is not set', all, 1, { more: false, pages: 9, total: 99 }, {}, undefined],
    ['the number of pages', all, 2, { pages: 3 }, {}, '3'],
    ['the number of pages, at the last', all, 3, { pages: 3 }, {}, undefined],
    [
      'the number of pages from 0, at the last',
      { ...all, firstPage: 0 as const },
      2,
      { pages: 3 },
      {},
      undefined,
    ],
    ['the total', all, 2, { total: 21 }, { offset: 10 }, '3'],
    ['the total, after a short page', all, 2, { total: 17 }, { offset: 10, count: 7 }, undefined],
    ['the total, where it may be the page’s own count', all, 1, { total: 10 }, {}, '2'],
    ['the total, with an empty page', all, 2, { total: 20 }, { offset: 10, count: 0 }, undefined],
    ['nothing, with a short page', plain, 2, {}, { offset: 10, count: 3 }, '3'],
    ['nothing, with an empty page', plain, 3, {}, { offset: 13, count: 0 }, undefined],
  ])('know by %s what follows', (_, paging, page, value, at, next) => {
    expect(read(paging, page, value, at).next).toBe(next);
  });

  it('refuse the answer of another page', () => {
    expect(() => read(all, 3, { page: 1, total: 99 })).toThrow('asked for page 3, the answer is for page 1');
    expect(() => read(all, 3, { page: '3', total: 99 })).toThrow('/page should be a whole number');
  });

  it('can be picked by a position, in pages as large as the server sends', () => {
    const order = createPageNumberOrder(plain);
    expect(order.pick(0, 40)).toEqual({ offset: 0, next: '1' });
    expect(order.pick(95, 40)).toEqual({ offset: 80, next: '3' });
  });
});
