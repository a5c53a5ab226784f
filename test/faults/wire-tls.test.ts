import type { Socket } from 'node:net';
import tls from 'node:tls';
import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { expectRows } from '../support/published.ts';
import { createRawServer } from '../support/raw-server.ts';
import { streamOf } from '../support/sync-harness.ts';
import { type Certificate, makeAuthority, makeServerCertificate } from './kit/make-certificate.ts';
import { startProxy } from './kit/start-proxy.ts';
import { createWireFlow, WIRE_ROWS, type WireFlowOptions } from './kit/wire-flow.ts';

const KEY = 'sk_live_0123456789abcdef';
const authority = makeAuthority('an authority of a test');
const stranger = makeAuthority('an authority nobody knows');
const right = makeServerCertificate({ host: '127.0.0.1', authority });

const trusted = tls.getCACertificates('default');
beforeAll(() => tls.setDefaultCACertificates([...trusted, authority.cert]));
afterAll(() => tls.setDefaultCACertificates(trusted));

beforeEach(() => {
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY']) {
    vi.stubEnv(name, undefined);
    vi.stubEnv(name.toLowerCase(), undefined);
  }
});
afterEach(() => vi.unstubAllEnvs());

function createTlsFlow(certificate: Certificate, options: WireFlowOptions & { readonly tls?: object } = {}) {
  return createWireFlow({
    ...options,
    tls: { ...certificate, ...options.tls },
    config: { source: { apiKey: KEY } },
  });
}

describe('a certificate', () => {
  it('of a trusted authority is accepted, and the key goes inside TLS', async () => {
    const { sync, flow, server } = await createTlsFlow(right);
    expect((await sync()).exitCode).toBe(0);
    expect(await flow.rows('items')).toEqual(expectRows(WIRE_ROWS));
    expect(server.arrivals.every(({ headers }) => headers['x-api-key'] === KEY)).toBe(true);
  });

  it.each([
    ['of nobody but itself', makeServerCertificate({ host: '127.0.0.1' }), /self-signed certificate/],
    ['of an unknown authority', makeServerCertificate({ host: '127.0.0.1', authority: stranger }), /verify/],
    [
      'that has expired',
      makeServerCertificate({ host: '127.0.0.1', authority, validDays: [-30, -1] }),
      /certificate has expired/,
    ],
    [
      'that is not valid yet',
      makeServerCertificate({ host: '127.0.0.1', authority, validDays: [1, 30] }),
      /not yet valid/,
    ],
    [
      'of another address',
      makeServerCertificate({ host: '127.0.0.2', authority }),
      /does not match certificate's altnames/,
    ],
    [
      'of another name',
      makeServerCertificate({ host: 'analytics.example.com', authority }),
      /does not match certificate's altnames/,
    ],
  ])('%s ends with 75, and nothing was sent', async (_, certificate, flaw) => {
    const { sync, flow, server } = await createTlsFlow(certificate);
    const report = await sync();
    const { error } = streamOf(report);
    expect(report).toMatchObject({ exitCode: 75, requests: 0, retries: 0 });
    expect(error?.message).toMatch(/TLS with 127\.0\.0\.1:\d+ failed/);
    expect(error?.message).toMatch(flaw);
    expect(error?.hint).toMatch(/NODE_EXTRA_CA_CERTS/);
    expect(server.arrivals).toEqual([]);
    expect(server.connectionCount).toBeLessThanOrEqual(1);
    expect(flow.isPublished()).toBe(false);
  });

  it('is not what an old protocol may do without', async () => {
    const { sync, server } = await createTlsFlow(right, {
      tls: { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' },
    });
    const report = await sync();
    expect(report).toMatchObject({ exitCode: 75, requests: 0 });
    expect(streamOf(report).error?.message).toMatch(/TLS with 127\.0\.0\.1:\d+ failed/);
    expect(server.arrivals).toEqual([]);
  });
});

describe('a handshake', () => {
  const silent = async () => {
    const server = await createRawServer(() => {});
    onTestFinished(() => server.close());
    return `https://127.0.0.1:${server.port}/api/v1`;
  };

  it('that nobody answers ends at the deadline of a connection, with 75', async () => {
    const { sync } = await createWireFlow({
      baseUrl: await silent(),
      limits: { connectMs: 40 },
    });
    const report = await sync();
    expect(report).toMatchObject({ exitCode: 75, requests: 0, retries: 4 });
    expect(streamOf(report).error?.message).toMatch(/cannot reach 127\.0\.0\.1.*no connection within 40 ms/);
  });
});

describe('a proxy', () => {
  async function behindProxy(
    answer?: (socket: Socket, open: () => void) => void,
    options: { readonly noProxy?: string; readonly credentials?: string } = {},
  ) {
    const proxy = await startProxy(answer);
    onTestFinished(() => proxy.close());
    vi.stubEnv('HTTPS_PROXY', proxy.url.replace('//', `//${options.credentials ?? ''}`));
    if (options.noProxy !== undefined) vi.stubEnv('NO_PROXY', options.noProxy);
    const wire = await createTlsFlow(right, { limits: { connectMs: 300 } });
    return { proxy, ...wire };
  }

  it('gets tunnels to the configured host, and nothing of the key', async () => {
    const { proxy, sync, flow, server } = await behindProxy();
    expect((await sync()).exitCode).toBe(0);
    expect(await flow.rows('items')).toEqual(expectRows(WIRE_ROWS));
    expect(new Set(proxy.heads.map((head) => head.split('\r\n')[0]))).toEqual(
      new Set([`CONNECT 127.0.0.1:${server.port} HTTP/1.1`]),
    );
    expect(proxy.heads.join('\n')).not.toContain(KEY);
    const relayed = proxy.relayed();
    expect(relayed.length).toBeGreaterThan(0);
    expect(relayed.includes(KEY)).toBe(false);
  });

  it('is left out where NO_PROXY names the host', async () => {
    const { proxy, sync } = await behindProxy(undefined, { noProxy: '127.0.0.1' });
    expect((await sync()).exitCode).toBe(0);
    expect(proxy.heads).toEqual([]);
  });

  const answers: Readonly<Record<string, readonly [exitCode: number, (socket: Socket) => void]>> = {
    'that wants credentials': [
      2,
      (socket) =>
        socket.end('HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic\r\n\r\n'),
    ],
    'that forbids the host': [2, (socket) => socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')],
    'whose way is broken': [75, (socket) => socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')],
    'that says nothing': [75, () => {}],
    'that closes': [75, (socket) => socket.end()],
    'that poses as the API': [
      75,
      (socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'),
    ],
  };

  it.each(Object.entries(answers))(
    '%s gets no key, and no way round it is taken',
    async (_, [exitCode, answer]) => {
      const { proxy, sync, server } = await behindProxy(answer, { credentials: 'user:hush-hush@' });
      const report = await sync();
      expect(report).toMatchObject({ exitCode, requests: 0 });
      expect(server.arrivals).toEqual([]);
      expect(server.connectionCount).toBe(0);
      expect(proxy.heads.length).toBeGreaterThan(0);
      expect(proxy.heads.join('\n')).not.toContain(KEY);
      expect(JSON.stringify(report)).not.toMatch(/hush-hush|aHVzaC1odXNo|dXNlcjpodXNo/);
    },
  );

  it.each(['127.0.0.1:3128', 'not a URL', 'ftp://127.0.0.1:1', 'http://user:hush-hush@127.0.0.1:99999'])(
    'that is not an address (%s) ends with 2 and is not shown',
    async (address) => {
      vi.stubEnv('HTTPS_PROXY', address);
      const { sync, server } = await createTlsFlow(right);
      const report = await sync();
      expect(report).toMatchObject({ exitCode: 2, requests: 0 });
      expect(report.error).toMatchObject({ code: 'config_invalid' });
      expect(report.error?.message).toContain('HTTPS_PROXY');
      expect(JSON.stringify(report)).not.toContain('hush-hush');
      expect(server.connectionCount).toBe(0);
    },
  );

  it('with a certificate nobody trusts gets neither its own credentials nor the key', async () => {
    const bad = makeServerCertificate({ host: 'localhost' });
    const proxy = await startProxy(undefined, bad);
    onTestFinished(() => proxy.close());
    vi.stubEnv('HTTPS_PROXY', proxy.url.replace('//', '//user:hush-hush@'));
    const { sync, server } = await createTlsFlow(right);
    expect(await sync()).toMatchObject({ exitCode: 75, requests: 0 });
    expect(proxy.heads).toEqual([]);
    expect(server.connectionCount).toBe(0);
  });
});
