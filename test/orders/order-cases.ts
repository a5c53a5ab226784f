import { cut, type OrderCase, PAGE_ROWS, type Serving } from './order-case.ts';

function sizeOf({ most, query }: Serving): number {
  return Math.min(most, Number(query.get('limit') ?? PAGE_ROWS));
}

const offset: OrderCase = {
  paging: {
    kind: 'offset',
    limitParam: 'limit',
    offsetParam: 'offset',
    records: '/data',
    total: '/page/total',
    offset: '/page/offset',
    hasMore: '/page/hasMore',
  },
  proves: 'verified',
  provesOne: 'verified',
  params: ['limit', 'offset'],
  serve(asked) {
    const start = Number(asked.query.get('offset'));
    const data = cut(asked, 'limit', start);
    const hasMore = start + data.length < asked.ids.length;
    return { body: { data, page: { total: asked.total, limit: sizeOf(asked), offset: start, hasMore } } };
  },
};

// The cursor is the last id: rows before it that come or go shift nothing.
const cursor: OrderCase = {
  paging: {
    kind: 'cursor',
    limitParam: 'limit',
    cursorParam: 'after',
    namesRecord: true,
    records: '/data',
    next: '/next',
    total: '/total',
  },
  proves: 'verified',
  provesOne: 'verified',
  params: ['limit', 'after'],
  serve(asked) {
    const after = asked.query.get('after');
    const start = after === null ? 0 : asked.ids.findIndex((id) => id === Number(after)) + 1;
    const data = cut(asked, 'limit', start);
    const isMore = start + data.length < asked.ids.length;
    return { body: { data, total: asked.total, next: isMore ? data.at(-1)?.id : null } };
  },
};

function serveNumber(asked: Serving, first: number) {
  const page = Number(asked.query.get('page'));
  const data = cut(asked, 'limit', (page - first) * sizeOf(asked));
  const pages = Math.ceil(asked.total / sizeOf(asked));
  return { page, data, pages, hasMore: page - first + 1 < Math.ceil(asked.ids.length / sizeOf(asked)) };
}

const byNumber = { kind: 'page-number', limitParam: 'limit', pageParam: 'page' } as const;

const pageNumber: OrderCase = {
  paging: { ...byNumber, records: '/data', total: '/total', page: '/page' },
  proves: 'unverified',
  provesOne: 'verified',
  params: ['limit', 'page'],
  serve(asked) {
    const { page, data } = serveNumber(asked, 1);
    return { body: { data, page, total: asked.total } };
  },
};

const pageNumberFromZero: OrderCase = {
  ...pageNumber,
  paging: { ...byNumber, firstPage: 0, records: '/data', total: '/total', pages: '/pages', hasMore: '/more' },
  serve(asked) {
    const { data, pages, hasMore } = serveNumber(asked, 0);
    return { body: { data, pages, total: asked.total, more: hasMore } };
  },
};

const pageNumberAlone: OrderCase = {
  ...pageNumber,
  paging: { ...byNumber, records: '' },
  provesOne: 'unverified',
  serve: (asked) => ({ body: serveNumber(asked, 1).data }),
};

const link: OrderCase = {
  paging: {
    kind: 'link',
    limitParam: 'limit',
    pageParams: ['page'],
    records: '',
    totalHeader: 'X-Total-Count',
  },
  proves: 'unverified',
  provesOne: 'verified',
  params: ['limit', 'page'],
  serve(asked) {
    const page = Number(asked.query.get('page') ?? 1);
    const data = cut(asked, 'limit', (page - 1) * sizeOf(asked));
    const to = (number: number, rel: string) =>
      `<${asked.url.origin}${asked.url.pathname}?limit=${sizeOf(asked)}&page=${number}>; rel="${rel}"`;
    const isMore = page * sizeOf(asked) < asked.ids.length;
    const links = [to(1, 'first'), ...(isMore ? [to(page + 1, 'next')] : [])];
    return { body: data, headers: { link: links.join(', '), 'x-total-count': String(asked.total) } };
  },
};

const document: OrderCase = {
  ...offset,
  paginated: false,
  params: [],
  serve: ({ ids }) => ({ body: { data: ids.map((id) => ({ id, name: `row ${id}` })) } }),
};

/** Every order, and what a stream without pages does in its place. */
export const orderCases = {
  offset,
  cursor,
  'page-number': pageNumber,
  'page-number from 0': pageNumberFromZero,
  'page-number without a count': pageNumberAlone,
  link,
  document,
} as const satisfies Readonly<Record<string, OrderCase>>;
