import { describe, expect, it } from 'vitest';

import {
  capLimit,
  delay,
  deleteRows,
  dropConnection,
  errorStatus,
  hang,
  html,
  ignoreOffset,
  insertRows,
  rateLimited,
  respondWith,
  rewriteEnvelope,
  rewritePagination,
  serverError,
  setHeaders,
  unauthorized,
} from '../../src/simulator/fault-effects.ts';
import { beforeRequest, when } from '../../src/simulator/faults.ts';
import type { Fault } from '../../src/simulator/faults.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { DEMO_KEY } from '../../src/simulator/simulator-options.ts';
import { ask, askAll, numbered } from './ask.ts';

function serveNumbers(count: number, ...faults: Fault[]) {
  return createSimulator({ ...numbered(count), faults });
}

function readStatuses(faults: readonly Fault[], paths: readonly string[]): readonly number[] {
  const simulator = createSimulator({ faults });
  return paths.map((path) => ask(simulator, path).status);
}

describe('which arrivals a fault hits', () => {
  const [prompts, products] = ['prompts/analytics', 'commerce/top-products'];

  it('all of them, when nothing is said', () => {
    expect(readStatuses([when({}, serverError())], [prompts, products])).toEqual([500, 500]);
  });

  it('those of a path, of an offset, or of a condition', () => {
    const paths = [prompts, products, `${products}?offset=5`];
    expect(readStatuses([when({ path: prompts }, serverError())], paths)).toEqual([500, 200, 200]);
    expect(readStatuses([when({ offset: 5 }, serverError())], paths)).toEqual([200, 200, 500]);
    const where = when({ where: ({ query }) => query.has('offset') }, serverError());
    expect(readStatuses([where], paths)).toEqual([200, 200, 500]);
  });

  it('the nth match alone, or a number of matches from it on', () => {
    const paths = [products, prompts, prompts, products, products, products];
    const second = when({ path: products, nth: 2 }, serverError());
    expect(readStatuses([second], paths)).toEqual([200, 200, 200, 500, 200, 200]);
    const twice = when({ path: products, nth: 2, count: 2 }, serverError());
    expect(readStatuses([twice], paths)).toEqual([200, 200, 200, 500, 500, 200]);
    const firstTwo = when({ count: 2 }, serverError(503));
    expect(readStatuses([firstTwo], paths)).toEqual([503, 503, 200, 200, 200, 200]);
  });

  it('can be planned again while the service runs', () => {
    const simulator = createSimulator();
    simulator.setFaults([serverError()]);
    expect(ask(simulator, products).status).toBe(500);
    simulator.setFaults([]);
    expect(ask(simulator, products).status).toBe(200);
  });
});

describe('faults that answer instead of the service', () => {
  it('errors carry the envelope, the code of their status and the rate limit headers', () => {
    const failed = ask(serveNumbers(1, serverError()), 'numbers');
    expect(failed.error?.code).toBe('INTERNAL_ERROR');
    expect(failed.headers['x-ratelimit-remaining']).toBeDefined();
    expect(ask(serveNumbers(1, unauthorized()), 'numbers').error?.code).toBe('UNAUTHORIZED');
    expect(ask(serveNumbers(1, errorStatus(403, 'no')), 'numbers').error).toEqual({
      code: 'FORBIDDEN',
      message: 'no',
    });
  });

  it('a web page with status 200', () => {
    const { status, headers, response } = ask(serveNumbers(1, html()), 'numbers');
    expect(status).toBe(200);
    expect(headers['content-type']).toContain('text/html');
    expect(response.body).toContain('<!doctype html>');
  });

  it('a 429 whose hints may disagree, be wrong or be missing', () => {
    const odd = rateLimited({
      retryAfter: '5, 10',
      bodyRetryAfter: '60',
      headers: { 'x-ratelimit-reset': '' },
    });
    const refused = ask(serveNumbers(1, odd), 'numbers');
    expect(refused.status).toBe(429);
    expect(refused.headers).toMatchObject({ 'retry-after': '5, 10', 'x-ratelimit-reset': '' });
    expect(refused.error?.retryAfter).toBe('60');

    const bare = ask(serveNumbers(1, rateLimited()), 'numbers');
    expect(bare.headers['retry-after']).toBeUndefined();
    expect(bare.error).not.toHaveProperty('retryAfter');
  });

  it('any status, header and bytes', () => {
    const bytes = Buffer.from([0xef, 0xbb, 0xbf, 0x7b, 0x7d]);
    const fault = respondWith({ body: bytes, headers: { 'content-type': 'x', date: undefined } });
    const { status, headers, response } = ask(serveNumbers(1, fault), 'numbers');
    expect(status).toBe(200);
    expect(response.body).toBe(bytes);
    expect(headers['content-type']).toBe('x');
    expect(headers).not.toHaveProperty('date');
  });

  it('headers alone leave the answer as it is', () => {
    const { data, headers } = ask(serveNumbers(2, setHeaders({ 'X-RateLimit-Limit': '100' })), 'numbers');
    expect(data).toHaveLength(2);
    expect(headers['x-ratelimit-limit']).toBe('100');
  });
});

describe('faults that bend a successful answer', () => {
  it('lie in the pagination', () => {
    const lie = rewritePagination({ total: 'many', hasMore: undefined });
    expect(ask(serveNumbers(1, lie), 'numbers').pagination).toEqual({ total: 'many', limit: 50, offset: 0 });
  });

  it('change the shape, with records kept verbatim, paged or not', () => {
    const bare = rewriteEnvelope(({ data }) => data);
    expect(ask(serveNumbers(2, bare), 'numbers').response.body).toBe('[{"id":0},{"id":1}]');
    const whole = createSimulator({ ...numbered(2, false), faults: [bare] });
    expect(ask(whole, 'numbers').response.body).toBe('[{"id":0},{"id":1}]');
  });

  it('follow one another', () => {
    const simulator = serveNumbers(9, rewritePagination({ total: 1 }), rewritePagination({ offset: 7 }));
    expect(ask(simulator, 'numbers').pagination).toMatchObject({ total: 1, offset: 7 });
  });

  it('ignore the offset, with the echo of what was asked or served', () => {
    const asked = ask(serveNumbers(9, ignoreOffset()), 'numbers?limit=2&offset=4');
    expect(asked.data).toEqual([{ id: 0 }, { id: 1 }]);
    expect(asked.pagination).toMatchObject({ offset: 4, hasMore: true });
    const served = ask(serveNumbers(9, ignoreOffset('served')), 'numbers?limit=2&offset=4');
    expect(served.pagination?.offset).toBe(0);
  });

  it('serve fewer records than asked for, and all are still reachable', () => {
    const simulator = serveNumbers(9, capLimit(2));
    expect(ask(simulator, 'numbers?limit=5').pagination).toMatchObject({ limit: 2, hasMore: true });
    expect(askAll(simulator, 'numbers')).toHaveLength(9);
    const quiet = ask(serveNumbers(9, capLimit(2, 'asked')), 'numbers?limit=5');
    expect(quiet.data).toHaveLength(2);
    expect(quiet.pagination?.limit).toBe(5);
  });

  it('leave refusals alone', () => {
    const simulator = serveNumbers(9, rewritePagination({ total: 1 }), capLimit(2));
    expect(ask(simulator, 'numbers?limit=x').error?.code).toBe('VALIDATION_ERROR');
  });
});

describe('data that moves in mid-scan', () => {
  const readIds = (faults: Fault[]) =>
    askAll(serveNumbers(6, ...faults), 'numbers', 2).map((row) => row['id']);

  it('an insertion before the offset repeats a record', () => {
    const insert = beforeRequest(2, (controls) =>
      controls.editRecords('numbers', insertRows(0, [{ id: 'new' }])),
    );
    expect(readIds([insert])).toEqual([0, 1, 1, 2, 3, 4, 5]);
  });

  it('a deletion before the offset skips a record', () => {
    const remove = beforeRequest(2, (controls) => controls.editRecords('numbers', deleteRows(0)));
    expect(readIds([remove])).toEqual([0, 1, 3, 4, 5]);
  });

  it('the daily refresh comes between two pages', () => {
    const refresh = beforeRequest(2, (controls) => controls.advanceDay(), { path: 'prompts/analytics' });
    const simulator = createSimulator({ faults: [refresh] });
    const totals = ['', '?offset=50', '?offset=100'].map(
      (query) => ask(simulator, `prompts/analytics${query}`).pagination?.total,
    );
    expect(totals).toEqual([1800, 1860, 1860]);
  });

  it('the key is revoked before its third request', () => {
    const revoke = beforeRequest(3, (controls) => controls.setKeyState(DEMO_KEY, 'revoked'));
    expect(readStatuses([revoke], Array<string>(4).fill('prompts/analytics'))).toEqual([200, 200, 401, 401]);
  });
});

describe('faults of the connection', () => {
  it('are reported to the carrier of the answer, and logged', () => {
    const simulator = serveNumbers(
      1,
      when({ nth: 1 }, dropConnection()),
      when({ nth: 2 }, hang()),
      when({ nth: 3 }, delay(250)),
    );
    const told = [1, 2, 3, 4].map(() => ask(simulator, 'numbers').response);
    expect(told.map(({ connection }) => connection)).toEqual(['drop', 'hang', undefined, undefined]);
    expect(told.map(({ delayMs }) => delayMs)).toEqual([undefined, undefined, 250, undefined]);
    expect(simulator.log.map(({ connection }) => connection)).toEqual(['drop', 'hang', undefined, undefined]);
  });
});
