import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { analyticsRead } from '../../connectors/analytics-read/connector.ts';
import { createApiClient } from '../../src/http/client.ts';
import { buildFaultError } from '../../src/http/fault-errors.ts';
import { Quota } from '../../src/http/quota.ts';
import { toTransportFault } from '../../src/http/transport-faults.ts';
import { createUndiciTransport, type UndiciTransportOptions } from '../../src/http/undici-transport.ts';
import { systemClock } from '../../src/model/clock.ts';
import { type BodyLimits, type Transport, TransportFault } from '../../src/model/http.ts';
import { createMemoryQuotaStore } from '../../state/memory-quota-store.ts';
import { buildResponse, createRawServer, type RawRequest, type RawServer } from '../support/raw-server.ts';
import { countRuns } from '../support/seeds.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  await Promise.all(cleanups.splice(0).map((cleanup) => cleanup()));
});

interface Wire {
  readonly server: RawServer;
  readonly transport: Transport;
  readonly get: (body?: BodyLimits, signal?: AbortSignal) => Promise<string>;
  readonly fault: (body?: BodyLimits, signal?: AbortSignal) => Promise<TransportFault>;
}

async function connect(
  answer: (request: RawRequest) => void,
  limits: UndiciTransportOptions['limits'] = {},
  protocol = 'http:',
): Promise<Wire> {
  const server = await createRawServer(answer);
  const baseUrl = new URL(`${protocol}//127.0.0.1:${server.port}/v1/`);
  const transport = createUndiciTransport({ baseUrl, userAgent: 'test', limits });
  cleanups.push(
    () => server.close(),
    () => transport.close(),
  );
  const send = async (body?: BodyLimits, signal?: AbortSignal) => {
    const url = new URL('page?offset=0', baseUrl);
    const sending = { url, headers: {}, ...(body && { body }), ...(signal && { signal }) };
    return (await transport.send(sending)).body.toString();
  };
  return {
    server,
    transport,
    get: send,
    async fault(body, signal) {
      return send(body, signal).then(
        (text) => expect.unreachable(`an answer came: ${text.slice(0, 100)}`),
        (error: unknown) => error as TransportFault,
      );
    },
  };
}

function reply(bytes: Buffer | string) {
  return ({ socket }: RawRequest) => {
    socket.write(bytes);
  };
}

function replyAndClose(bytes: Buffer | string) {
  return ({ socket }: RawRequest) => {
    socket.end(bytes);
  };
}

const document = JSON.stringify({ data: Array.from({ length: 50 }, (_, id) => ({ id })) });
const zipped = gzipSync(document);
const gzip = { 'content-encoding': 'gzip' };

describe('a connection', () => {
  it('is used again', async () => {
    const { server, get } = await connect(reply(buildResponse('{}')));
    for (let n = 0; n < 5; n++) expect(await get()).toBe('{}');
    expect([server.requests.length, server.connectionCount]).toEqual([5, 1]);
  });

  it('that the server closed while it was idle costs one more try', async () => {
    // Answers, and closes when the next request is already on its way: the race a client cannot avoid.
    const answer = ({ n, connection, socket }: RawRequest) => {
      if (n > 0 && connection === 0) socket.destroy();
      else socket.write(buildResponse('{}'));
    };
    const { server, transport } = await connect(answer);
    const limits = {
      ceilingPerWindow: undefined,
      windowMs: 3_600_000,
      defaultPerWindow: 9,
      burstPerSecond: 9,
      reserve: 0,
    };
    const store = createMemoryQuotaStore();
    const quota = new Quota({ store, limits, clock: systemClock, maxWaitMs: 0 });
    const client = createApiClient({
      connector: analyticsRead,
      credentials: { kind: 'api-key', secret: 'key' },
      quota,
      transport,
      clock: systemClock,
    });
    const url = new URL(`http://127.0.0.1:${server.port}/v1/`);
    await client.get({ stream: 's', url });
    await client.get({ stream: 's', url });
    expect(client.usage).toMatchObject({ requests: 3, retries: 1, waitedMs: 0 });
    expect(server.requests).toHaveLength(3);
  });

  it('that ends before the headers is a fault of the connection', async () => {
    const fin = await connect(replyAndClose(''));
    expect(await fin.fault()).toMatchObject({ kind: 'closed', sent: true });
    const half = await connect(replyAndClose('HTTP/1.1 200 OK\r\nconte'));
    expect(await half.fault()).toMatchObject({ sent: true });
    const reset = await connect(({ socket }) => socket.resetAndDestroy());
    expect(await reset.fault()).toMatchObject({ kind: 'closed', sent: true });
    expect(reset.server.requests).toHaveLength(1);
  });

  it('that nobody accepts never sent anything', async () => {
    const { server, fault } = await connect(() => {});
    await server.close();
    expect(await fault()).toMatchObject({ kind: 'refused', sent: false });
  });

  it('that speaks no TLS never sent anything', async () => {
    vi.stubEnv('NO_PROXY', '127.0.0.1');
    const server = await createRawServer(
      () => {},
      (socket) => socket.write('220 mail.example.com ESMTP\r\n'),
    );
    const baseUrl = new URL(`https://127.0.0.1:${server.port}/v1/`);
    const transport = createUndiciTransport({ baseUrl, userAgent: 'test' });
    cleanups.push(
      () => server.close(),
      () => transport.close(),
    );
    const error: unknown = await transport.send({ url: baseUrl, headers: {} }).catch((e: unknown) => e);
    expect(error).toMatchObject({ kind: 'no-tls', sent: false });
  });

  it('to a port of plain HTTP never sent anything, and no certificate is to blame', async () => {
    vi.stubEnv('NO_PROXY', '127.0.0.1');
    const server = createServer((_, response) => void response.end('{}')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const baseUrl = new URL(`https://127.0.0.1:${port}/v1/`);
    const transport = createUndiciTransport({ baseUrl, userAgent: 'test' });
    cleanups.push(
      () => new Promise((resolve) => server.close(resolve)),
      () => transport.close(),
    );
    const fault: unknown = await transport.send({ url: baseUrl, headers: {} }).catch((e: unknown) => e);
    expect(fault).toMatchObject({ kind: 'no-tls', sent: false });
    const error = buildFaultError({ stream: 'items', url: baseUrl }, fault as TransportFault, 1, []);
    expect(error.message).toMatch(
      new RegExp(`127.0.0.1:${port} does not speak TLS: ERR_SSL_WRONG_VERSION_NUMBER: wrong version number$`),
    );
    expect(error.hint).toContain('write http:// for a server on this machine');
    expect(`${error.message}${error.hint}`).not.toMatch(/certificate/i);
  });

  it.each(['CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'ERR_TLS_CERT_ALTNAME_INVALID'])(
    'with a certificate that is wrong (%s) is a fault of TLS',
    (code) => {
      const error = Object.assign(new Error('certificate'), { code });
      expect(toTransportFault(error, { sent: false, answered: false })).toMatchObject({ kind: 'tls' });
    },
  );
});

describe('a deadline', () => {
  it('ends a connection that is never made', async () => {
    vi.stubEnv('NO_PROXY', '127.0.0.1');
    // A TLS handshake that nobody answers.
    const { fault } = await connect(() => {}, { connectMs: 50 }, 'https:');
    expect(await fault()).toMatchObject({ kind: 'connect-timeout', sent: false });
  });

  it('ends the wait for headers, and headers that drip', async () => {
    const silent = await connect(() => {}, { headersMs: 50 });
    expect(await silent.fault()).toMatchObject({ kind: 'timeout', sent: true });
    const dripping = await connect(
      ({ socket }) => {
        const timer = setInterval(() => socket.write('x'), 5);
        socket.write('HTTP/1.1 200 OK\r\nx-drip: ');
        socket.on('close', () => clearInterval(timer));
      },
      { headersMs: 50 },
    );
    expect(await dripping.fault()).toMatchObject({ kind: 'timeout' });
  });

  function drip({ socket }: RawRequest): void {
    let left = 40;
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 40\r\n\r\n');
    const timer = setInterval(() => {
      if (left-- > 0) socket.write('1');
      else clearInterval(timer);
    }, 5);
    socket.on('close', () => clearInterval(timer));
  }

  it('ends a body that drips, by the total; a whole dataset may drip on', async () => {
    const { fault, get } = await connect(drip, { totalMs: 60, idleMs: 2_000 });
    const error = await fault();
    expect([error.kind, error.detail]).toEqual(['timeout', 'the exchange took longer than 60 ms']);
    expect(await get({ deadline: 'idle' })).toBe('1'.repeat(40));
    const late = await fault({ deadline: 'idle', mostMs: 60 });
    expect([late.kind, late.detail]).toEqual(['timeout', 'the exchange took longer than 60 ms']);
  });

  it('ends a body that stops', async () => {
    const half = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n12345');
    const { fault } = await connect(reply(half), { idleMs: 50 });
    const error = await fault({ deadline: 'idle' });
    expect([error.kind, error.detail]).toEqual(['timeout', 'no more of the body within 50 ms']);
  });
});

describe('a signal', () => {
  it('ends a request before, while and after it is sent', async () => {
    const reason = new Error('stop');
    const arrivals = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { get, fault } = await connect(({ n, socket }) => {
      arrivals[n]?.resolve();
      if (n === 1) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n12345');
      if (n === 2) socket.write(buildResponse('{}'));
    });
    expect(await fault({}, AbortSignal.abort(reason))).toMatchObject({ kind: 'aborted', sent: false });
    for (const arrival of arrivals) {
      const run = new AbortController();
      const pending = fault({}, run.signal);
      await arrival.promise;
      run.abort(reason);
      expect(await pending).toMatchObject({ kind: 'aborted', sent: true });
    }
    expect(await get({}, new AbortController().signal)).toBe('{}');
  });
});

describe('a body', () => {
  it('is decompressed', async () => {
    const { get } = await connect(reply(buildResponse(zipped, gzip)));
    expect(await get()).toBe(document);
  });

  it('in chunks, in several gzip members or until the connection closes is whole', async () => {
    const chunked = await connect(
      reply(buildResponse('5\r\n{"a":\r\n2\r\n1}\r\n0\r\n\r\n', { 'transfer-encoding': 'chunked' })),
    );
    expect(await chunked.get()).toBe('{"a":1}');
    const members = Buffer.concat([gzipSync('{"a":'), gzipSync('1}')]);
    const several = await connect(reply(buildResponse(members, gzip)));
    expect(await several.get()).toBe('{"a":1}');
    const closing = await connect(replyAndClose(buildResponse(zipped, { ...gzip, connection: 'close' })));
    expect(await closing.get()).toBe(document);
  });

  it.each([
    ['shorter than its length', { 'content-length': String(document.length + 1) }, document],
    ['a chunked one without its end', { 'transfer-encoding': 'chunked' }, '5\r\n12345\r\n'],
  ])('that is %s is cut', async (_, headers, body) => {
    const { fault } = await connect(replyAndClose(buildResponse(body, headers)));
    expect(await fault()).toMatchObject({ kind: 'cut', sent: true });
  });

  it('that a reset ends is cut', async () => {
    const { fault } = await connect(({ socket }) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n12345', () => {
        setImmediate(() => socket.resetAndDestroy());
      });
    });
    expect(await fault()).toMatchObject({
      sent: true,
      kind: expect.stringMatching(/^(cut|closed)$/) as string,
    });
  });

  it.each([
    ['without its last byte', zipped.subarray(0, -1)],
    ['without its trailer', zipped.subarray(0, -8)],
    ['cut in the middle', zipped.subarray(0, zipped.length / 2)],
    ['with a wrong checksum', flip(zipped, -8)],
    ['with a wrong length', flip(zipped, -1)],
    ['with a flipped bit', flip(zipped, 30)],
    ['that is plain text', Buffer.from(document)],
    ['that is empty', Buffer.alloc(0)],
  ])('labelled gzip, %s, is not what it says', async (_, body) => {
    const { fault } = await connect(reply(buildResponse(body, gzip)));
    expect(await fault()).toMatchObject({ kind: 'body-corrupt', sent: true });
  });

  it.each(['br', 'deflate', 'zstd', 'gzip, gzip', 'gzip, gzip, gzip, gzip, gzip, gzip'])(
    'in the encoding %s is refused',
    async (encoding) => {
      const { fault } = await connect(reply(buildResponse(zipped, { 'content-encoding': encoding })));
      expect(await fault()).toMatchObject({ kind: 'encoding-refused' });
    },
  );

  it('that unpacks to more than the limit ends there', async () => {
    const bomb = gzipSync(Buffer.alloc(20_000_000));
    const { fault } = await connect(reply(buildResponse(bomb, gzip)), { maxBytes: 1_000_000 });
    expect(await fault()).toMatchObject({ kind: 'body-too-large' });
  });

  it('that never ends is ended at the limit, which a request may raise', async () => {
    const endless = ({ socket }: RawRequest) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      const more = () => {
        if (socket.writable) socket.write(Buffer.alloc(100_000, 0x20), more);
      };
      more();
    };
    const { fault } = await connect(endless, { maxBytes: 1_000_000 });
    expect(await fault()).toMatchObject({ kind: 'body-too-large' });
    const { get } = await connect(reply(buildResponse(' '.repeat(2_000_000))), { maxBytes: 1_000_000 });
    expect(await get({ maxBytes: 3_000_000 })).toHaveLength(2_000_000);
  });

  it('that is longer than its length never becomes part of the next answer', async () => {
    const { get } = await connect(({ n, socket }) => {
      const poison = 'HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\npoison';
      socket.write(
        n === 0 ? buildResponse(`{}${poison}`, { 'content-length': '2' }) : buildResponse('clean'),
      );
    });
    expect(await get()).toBe('{}');
    expect(await get().catch(() => get())).toBe('clean');
  });
});

describe('what is not HTTP', () => {
  it.each([
    ['another protocol', '220 mail.example.com ESMTP\r\n'],
    ['an invalid chunk size', buildResponse('zz\r\nabc\r\n', { 'transfer-encoding': 'chunked' })],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}'],
    ['another protocol from here on', 'HTTP/1.1 101 Go\r\nconnection: upgrade\r\nupgrade: ws\r\n\r\n'],
    ['a status below 100', 'HTTP/1.1 099 Less\r\ncontent-length: 2\r\n\r\n{}'],
    [
      'a length and chunks',
      'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
  ])('is malformed: %s', async (_, bytes) => {
    const { fault } = await connect(reply(bytes));
    expect(await fault()).toMatchObject({ kind: 'malformed' });
  });

  it('is headers beyond any need', async () => {
    const { fault } = await connect(reply(`HTTP/1.1 200 OK\r\nx-long: ${'x'.repeat(40_000)}\r\n\r\n`));
    expect(await fault()).toMatchObject({ kind: 'headers-too-large' });
  });

  it('is never a hint that comes before an answer', async () => {
    const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'.repeat(20);
    const { get } = await connect(reply(Buffer.concat([Buffer.from(hints), buildResponse('{}')])));
    expect(await get()).toBe('{}');
  });

  it('ends as a fault or an answer, whatever the bytes are', async () => {
    let bytes = Buffer.alloc(0);
    const { transport, server } = await connect(({ socket }) => socket.end(bytes), { totalMs: 5_000 });
    const url = new URL(`http://127.0.0.1:${server.port}/v1/`);
    const start = fc.constantFrom(
      '',
      'HTTP/1.1 200 OK\r\n',
      'HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n',
    );
    await fc.assert(
      fc.asyncProperty(start, fc.uint8Array({ maxLength: 300 }), async (text, tail) => {
        bytes = Buffer.concat([Buffer.from(text), tail]);
        const outcome: unknown = await transport.send({ url, headers: {} }).catch((error: unknown) => error);
        if (outcome instanceof Error) expect(outcome).toBeInstanceOf(TransportFault);
      }),
      { numRuns: countRuns(100) },
    );
  });
});

describe('the key', () => {
  it('goes to no other machine in clear, and to no other origin at all', async () => {
    for (const text of [
      'http://analytics.example.com/v1/',
      'http://127.0.0.1.example.com/',
      'ftp://127.0.0.1/',
    ]) {
      const options = { baseUrl: new URL(text), userAgent: 'test' };
      expect(() => createUndiciTransport(options)).toThrow(/would carry the API key unencrypted/);
    }
    const { transport } = await connect(reply(buildResponse('{}')));
    const url = new URL('http://127.0.0.1:1/v1/');
    await expect(transport.send({ url, headers: {} })).rejects.toMatchObject({ code: 'bug' });
  });

  it('goes through no proxy on its way to this machine', async () => {
    const proxy = await createRawServer(reply(buildResponse('from the proxy')));
    cleanups.push(() => proxy.close());
    for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy']) {
      vi.stubEnv(name, `http://127.0.0.1:${proxy.port}`);
    }
    const { get } = await connect(reply(buildResponse('direct')));
    expect(await get()).toBe('direct');
    expect(proxy.requests).toHaveLength(0);
  });

  it('goes to a proxy only inside a tunnel', async () => {
    const proxy = await createRawServer(replyAndClose('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'));
    cleanups.push(() => proxy.close());
    vi.stubEnv('HTTPS_PROXY', `http://127.0.0.1:${proxy.port}`);
    vi.stubEnv('https_proxy', undefined);
    vi.stubEnv('NO_PROXY', '');
    vi.stubEnv('no_proxy', undefined);
    const baseUrl = new URL('https://analytics.example.com/v1/');
    const transport = createUndiciTransport({ baseUrl, userAgent: 'test' });
    cleanups.push(() => transport.close());
    const sending = { url: baseUrl, headers: { 'x-api-key': 'sk_live_0123456789' } };
    const error: unknown = await transport.send(sending).catch((e: unknown) => e);
    expect(error).toMatchObject({ kind: 'proxy', proxyStatus: 407, sent: false });
    expect(proxy.requests.map(({ head }) => head.split('\r\n')[0])).toEqual([
      'CONNECT analytics.example.com:443 HTTP/1.1',
    ]);
    expect(JSON.stringify(proxy.requests.map(({ head }) => head))).not.toContain('sk_live');
  });
});

function flip(bytes: Buffer, index: number): Buffer {
  const copy = Buffer.from(bytes);
  const at = index < 0 ? copy.length + index : index;
  copy[at] = (copy[at] ?? 0) ^ 0xff;
  return copy;
}
