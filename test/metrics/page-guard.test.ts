import { describe, expect, it } from 'vitest';
import type { PathRequest } from '../../src/metrics/metrics-server.ts';
import { isShown, readPageToken, refusePage } from '../../src/metrics/page-guard.ts';
import { makePathRequest } from '../cli/support/path-request.ts';

const token = 'a-token-of-the-tests';
const local = { host: '127.0.0.1', token: undefined };
const open = { host: '0.0.0.0', token };

function ask(path: string, headers: PathRequest['headers'] = {}): PathRequest {
  const [name = '', query] = path.split('?', 2);
  return makePathRequest(name, { query: new URLSearchParams(query), headers });
}

describe('a page without a token', () => {
  it.each(['localhost:9465', '127.0.0.1:9465', '127.0.0.1', '[::1]:9465', 'localhost'])(
    'is shown on this machine, as %s',
    (host) => {
      expect(refusePage(local, ask('/', { host }))).toBeUndefined();
      expect(isShown(local)).toBe(true);
    },
  );

  it.each(['evil.example:9465', '127.0.0.1.evil.example', 'localhost.evil.example', '192.0.2.1:9465', ''])(
    'is not shown to a site that leads here as %s',
    (host) => {
      expect(refusePage(local, ask('/', { host }))).toMatchObject({ status: 403 });
    },
  );

  it('is not shown where other machines can reach it', () => {
    for (const host of ['0.0.0.0', '::', '192.0.2.1', 'sluice.example', '127.example']) {
      const guard = { host, token: undefined };
      expect(isShown(guard)).toBe(false);
      expect(refusePage(guard, ask('/', { host: 'localhost' }))).toMatchObject({
        status: 403,
        body: expect.stringContaining('SLUICE_PAGE_TOKEN') as string,
      });
    }
  });
});

describe('a page with a token', () => {
  it('is shown with the cookie that the token brings, and the token leaves the address', () => {
    const first = refusePage(open, ask(`/?token=${token}`));
    expect(first).toMatchObject({ status: 303, headers: { location: './' } });
    const cookie = first?.headers?.['set-cookie'] ?? '';
    expect(cookie).toMatch(/^sluice_page=[0-9a-f]{64}; Path=\/; HttpOnly; SameSite=Strict$/);
    expect(JSON.stringify(first)).not.toContain(token);
    const [pair = ''] = cookie.split(';');
    expect(refusePage(open, ask('/', { cookie: `other=1; ${pair}` }))).toBeUndefined();
    expect(refusePage(open, ask(`/accounts/acme?token=${token}`))).toMatchObject({
      headers: { location: 'acme' },
    });
  });

  it('is shown to programs that send it as their authorization', () => {
    expect(refusePage(open, ask('/', { authorization: `Bearer ${token}` }))).toBeUndefined();
  });

  it.each([
    ['nothing', '/', {}],
    ['another token', '/?token=b-token-of-the-tests', {}],
    ['a part of it', `/?token=${token.slice(1)}`, {}],
    ['the token as the cookie', '/', { cookie: `sluice_page=${token}` }],
    ['another authorization', '/', { authorization: 'Bearer x' }],
    ['another kind of authorization', '/', { authorization: `Basic ${token}` }],
  ])('is not shown for %s, also on this machine', (_, path, headers) => {
    for (const host of ['0.0.0.0', '127.0.0.1'])
      expect(refusePage({ host, token }, ask(path, { host: 'localhost', ...headers }))).toMatchObject({
        status: 401,
      });
  });
});

describe('SLUICE_PAGE_TOKEN', () => {
  it('may be missing', () => {
    expect(readPageToken({})).toBeUndefined();
    expect(readPageToken({ SLUICE_PAGE_TOKEN: '' })).toBeUndefined();
    expect(readPageToken({ SLUICE_PAGE_TOKEN: token })).toBe(token);
  });

  it.each(['short', 'with a space in it, long', 'ünïcödé-ünïcödé-ünï', 'x'.repeat(201)])(
    'is refused if it is easily guessed or no part of an address: %s',
    (value) => {
      const read = () => readPageToken({ SLUICE_PAGE_TOKEN: value });
      expect(read).toThrow(/16 to 200/);
      expect(read).not.toThrow(value);
    },
  );
});
