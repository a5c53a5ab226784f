import { describe, expect, it } from 'vitest';
import type { LinkPaging } from '../../src/model/paging.ts';
import { createLinkOrder } from '../../src/orders/link-order.ts';
import { createOrderRun, range } from './order-case.ts';
import { orderCases } from './order-cases.ts';
import { KEY } from '../contract/stand-in-api.ts';

const paging: LinkPaging = { limitParam: 'per_page', pageParams: ['page', 'after'], records: '' };
const order = createLinkOrder(paging);
const url = new URL('https://api.example.com/v2/events?per_page=100&since=2026-01-01');

function nextOf(link: string | readonly string[] | undefined): string | undefined {
  const headers = link === undefined ? {} : { link };
  return order.read({ url, headers, value: [], offset: 0, count: 0 }).next;
}

const here = 'https://api.example.com/v2/events';

describe('links', () => {
  it.each([
    ['a plain one', `<${here}?page=2>; rel="next"`, 'page=2'],
    ['a relative one', '<?page=2>; rel=next', 'page=2'],
    ['one of a path', '</v2/events/?after=a%20b>; rel="next"', 'after=a+b'],
    ['one of several', `<${here}?page=9>; rel="last", <${here}?page=2>; rel="next"`, 'page=2'],
    ['two relations', `<${here}?page=2>; rel="last next"`, 'page=2'],
    ['capitals', `<${here}?page=2>; REL="NEXT"`, 'page=2'],
    [
      'a comma in a title',
      `<${here}?page=1>; title="a, \\"b\\" <c>"; rel=prev, <?page=2>; rel=next`,
      'page=2',
    ],
    ['a comma in the address', `<${here}?page=2,3>; rel="next"`, 'page=2%2C3'],
    ['the same link twice', `<?page=2>; rel=next, <?page=2>; rel=next`, 'page=2'],
    ["other parameters, which stay the request's", `<?page=2&per_page=7&since=x&q=1>; rel=next`, 'page=2'],
    ['only a last page', `<${here}?page=9>; rel="last"`, undefined],
    ['a link of another context', `<?page=2>; rel=next; anchor="#foo"`, undefined],
    ['a second rel, which does not count', `<?page=2>; rel=prev; rel=next`, undefined],
    ['nothing', '', undefined],
    ['no header', undefined, undefined],
  ])('with %s', (_, link, next) => {
    expect(nextOf(link)).toBe(next);
  });

  it('in several headers are one list', () => {
    expect(nextOf([`<?page=1>; rel=first`, `<?page=2>; rel=next`])).toBe('page=2');
  });

  it.each([
    [
      'another host',
      '<https://elsewhere.example.com/v2/events?page=2>; rel=next',
      /leads to https:\/\/elsewhere/,
    ],
    ['no TLS', '<http://api.example.com/v2/events?page=2>; rel=next', /leads to http:/],
    ['another port', '<https://api.example.com:8443/v2/events?page=2>; rel=next', /was not followed/],
    ['another path', '</v2/users?page=2>; rel=next', /leads to https:\/\/api\.example\.com\/v2\/users/],
    ['a password', '<https://me:secret@api.example.com/v2/events?page=2>; rel=next', /was not followed/],
    ['another scheme', '<javascript:alert(1)>; rel=next', /was not followed/],
    ['no parameter', `<${here}?cursor=2>; rel=next`, /no parameter page or after/],
    ['two next pages', '<?page=2>; rel=next, <?page=3>; rel=next', /two next pages/],
    ['no address', '<https://[>; rel=next', /not an address/],
    ['no brackets', `${here}?page=2; rel=next`, /not a list of links/],
    ['a bracket that stays open', `<${here}?page=2; rel=next`, /not a list of links/],
  ])('to %s are refused', (_, link, message) => {
    expect(() => nextOf(link)).toThrow(message);
  });

  it('are read quickly, however long', () => {
    const start = performance.now();
    expect(() => nextOf(`<?page=2>${'; a="b'.repeat(4_000)}`)).toThrow(/not a list/);
    expect(() => nextOf(`<?page=2>${' ;'.repeat(8_000)}`)).toThrow(/not a list/);
    expect(performance.now() - start).toBeLessThan(1_000);
  });

  it('give the next request what they list, and the size of a page stays', () => {
    expect(order.query({ offset: 100, next: 'page=2&after=a+b' }, 50)).toEqual({
      page: '2',
      after: 'a b',
      per_page: '50',
    });
  });

  it('with the key in them are refused, and the key is nowhere', async () => {
    const run = createOrderRun(
      {
        ...orderCases.link,
        serve(asked) {
          return { ...orderCases.link.serve(asked), headers: { link: `<?page=${KEY}>; rel="next"` } };
        },
      },
      { ids: () => range(200) },
    );
    const report = await run.sync();
    expect(report.exitCode).toBe(4);
    expect(report.streams[0]?.error?.message).toMatch(/names its next page with the API key/);
    expect(JSON.stringify(report)).not.toContain(KEY);
    expect(run.project.server.requests.every((request) => !request.url.href.includes(KEY))).toBe(true);
  });
});
