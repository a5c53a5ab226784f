import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { analyticsRead } from '../../connectors/analytics-read/connector.ts';
import { createApiClient } from '../../src/http/client.ts';
import { Quota } from '../../src/http/quota.ts';
import { createUndiciTransport, type UndiciTransportOptions } from '../../src/http/undici-transport.ts';
import { ResponseError, StorageError } from '../../src/model/errors.ts';
import {
  type ApiClient,
  type ApiRequest,
  type BodyLimits,
  type BodySink,
  TransportFault,
  type TransportResponse,
} from '../../src/model/http.ts';
import { createMemoryQuotaStore } from '../../state/memory-quota-store.ts';
import { buildResponse, createRawServer, type RawRequest, type RawServer } from '../support/raw-server.ts';
import { createScriptedTransport, type Scripted } from '../support/scripted-transport.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(cleanups.splice(0).map((cleanup) => cleanup()));
});

/** A sink that remembers what each try brought. */
function createCollector() {
  const bodies: string[] = [];
  const sink: BodySink = async (chunks) => {
    const at = bodies.push('') - 1;
    for await (const chunk of chunks) bodies[at] += chunk.toString();
  };
  return { bodies, sink };
}

interface Wire {
  readonly server: RawServer;
  readonly send: (
    sink: BodySink,
    parts?: { readonly body?: BodyLimits; readonly signal?: AbortSignal },
  ) => Promise<TransportResponse>;
}

async function connect(
  answer: (request: RawRequest) => void,
  limits: UndiciTransportOptions['limits'] = {},
): Promise<Wire> {
  const server = await createRawServer(answer);
  const baseUrl = new URL(`http://127.0.0.1:${server.port}/v1/`);
  const transport = createUndiciTransport({ baseUrl, userAgent: 'test', limits });
  cleanups.push(
    () => server.close(),
    () => transport.close(),
  );
  return {
    server,
    send: (sink, parts = {}) => transport.send({ url: new URL('all', baseUrl), headers: {}, sink, ...parts }),
  };
}

function reply(bytes: Buffer | string) {
  return ({ socket }: RawRequest) => void socket.write(bytes);
}

function replyAndClose(bytes: Buffer | string) {
  return ({ socket }: RawRequest) => void socket.end(bytes);
}

async function faultOf(sending: Promise<unknown>): Promise<TransportFault> {
  return sending.then(
    () => expect.unreachable('an answer came'),
    (error: unknown) => error as TransportFault,
  );
}

const document = JSON.stringify({ data: Array.from({ length: 50_000 }, (_, id) => ({ id })) });
const zipped = gzipSync(document);
const gzip = { 'content-encoding': 'gzip' };

describe('a sink', () => {
  it.each([
    ['plain', buildResponse(document)],
    ['gzip', buildResponse(zipped, gzip)],
    [
      'several gzip members',
      buildResponse(Buffer.concat([gzipSync('{"a":'), gzipSync(document), gzipSync('}')]), gzip),
    ],
  ])('takes a whole body, and the answer holds none: %s', async (name, bytes) => {
    const { server, send } = await connect(reply(bytes));
    const { bodies, sink } = createCollector();
    for (let n = 0; n < 2; n += 1) {
      const response = await send(sink);
      expect([response.status, response.body.length]).toEqual([200, 0]);
    }
    const expected = name === 'several gzip members' ? `{"a":${document}}` : document;
    expect(bodies).toEqual([expected, expected]);
    expect(server.connectionCount).toBe(1);
  });

  it('takes an empty body', async () => {
    const { send } = await connect(reply(buildResponse('', {}, '204 No Content')));
    const { bodies, sink } = createCollector();
    expect((await send(sink)).status).toBe(204);
    expect(bodies).toEqual(['']);
  });

  it('is not given the body of an error', async () => {
    const body = '{"error":{"code":"X","message":"no"}}';
    for (const bytes of [
      buildResponse(body, {}, '400 Bad Request'),
      buildResponse(gzipSync(body), gzip, '500 Oops'),
    ]) {
      const { send } = await connect(reply(bytes));
      const { bodies, sink } = createCollector();
      expect((await send(sink)).body.toString()).toBe(body);
      expect(bodies).toEqual([]);
    }
  });

  it('leaves the bound of an error body where it is', async () => {
    const { send } = await connect(reply(buildResponse(' '.repeat(2_000), {}, '400 Bad Request')), {
      maxErrorBytes: 1_000,
    });
    const { sink } = createCollector();
    expect(await faultOf(send(sink, { body: { maxBytes: 1e9 } }))).toMatchObject({ kind: 'body-too-large' });
  });

  it('may give the rest of a body up, and the next request is answered', async () => {
    const { server, send } = await connect(({ n, socket }) => {
      if (n > 0) return void socket.write(buildResponse('{}'));
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      const more = () => {
        if (socket.writable) socket.write(Buffer.alloc(100_000, 0x20), more);
      };
      more();
    });
    let seen = 0;
    const response = await send(async (chunks) => {
      for await (const chunk of chunks) {
        seen += chunk.length;
        if (seen >= 1_000_000) return;
      }
    });
    expect([response.status, response.body.length]).toEqual([200, 0]);
    const { bodies, sink } = createCollector();
    await send(sink);
    expect(bodies).toEqual(['{}']);
    expect(server.connectionCount).toBe(2);
  });

  it('that does not even look gives the whole body up', async () => {
    const { send } = await connect(reply(buildResponse(zipped, gzip)));
    expect((await send(() => Promise.resolve())).status).toBe(200);
  });

  it('holds the wire back while it is behind', async () => {
    const total = 64_000_000;
    const { server, send } = await connect(({ socket }) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${total}\r\n\r\n`);
      const more = (left: number) => {
        if (left > 0) socket.write(Buffer.alloc(1_000_000, 0x20), () => more(left - 1_000_000));
      };
      more(total);
    });
    let seen = 0;
    const written = () => server.requests[0]?.socket.bytesWritten ?? 0;
    let heldAt = 0;
    await send(async (chunks) => {
      for await (const chunk of chunks) {
        if (seen === 0) heldAt = await untilItStands(written);
        seen += chunk.length;
      }
    });
    expect(seen).toBe(total);
    // What the sockets' own buffers take is the system's to say.
    expect(heldAt).toBeLessThan(total / 2);
  });

  it('that is slow does not count as silence of the server', async () => {
    const { send } = await connect(reply(buildResponse(' '.repeat(5_000_000))), { idleMs: 50 });
    let seen = 0;
    await send(async (chunks) => {
      for await (const chunk of chunks) {
        seen += chunk.length;
        await sleep(30);
      }
    });
    expect(seen).toBe(5_000_000);
  });

  it('may be busy after the last byte for as long as it takes', async () => {
    const { send } = await connect(reply(buildResponse('{}')), { idleMs: 30 });
    const { bodies, sink } = createCollector();
    await send(async (chunks) => {
      await sink(chunks);
      await sleep(100);
    });
    expect(bodies).toEqual(['{}']);
  });

  it('that fails ends the request with its own error', async () => {
    const full = new StorageError('no space', { code: 'storage_failed', hint: 'Free some.' });
    const { send } = await connect(reply(buildResponse(zipped, gzip)));
    expect(await faultOf(send(() => Promise.reject(full)))).toBe(full);
    const late = send(async (chunks) => {
      for await (const _ of chunks) throw full;
    });
    expect(await faultOf(late)).toBe(full);
  });
});

describe('a body on its way to a sink', () => {
  it.each([
    ['shorter than its length', { 'content-length': String(document.length + 1) }, document],
    ['a chunked one without its end', { 'transfer-encoding': 'chunked' }, '5\r\n12345\r\n'],
  ])('that is %s is cut', async (_, headers, body) => {
    const { send } = await connect(replyAndClose(buildResponse(body, headers)));
    expect(await faultOf(send(createCollector().sink))).toMatchObject({ kind: 'cut', sent: true });
  });

  it.each([
    ['without its last byte', zipped.subarray(0, -1)],
    ['without its trailer', zipped.subarray(0, -8)],
    ['cut in the middle', zipped.subarray(0, zipped.length / 2)],
    ['with a wrong checksum', flip(zipped, -8)],
    ['with a wrong length', flip(zipped, -1)],
    ['with a flipped bit', flip(zipped, 300)],
    ['that is plain text', Buffer.from(document)],
    ['that is empty', Buffer.alloc(0)],
  ])('labelled gzip, %s, is not what it says', async (_, body) => {
    const { send } = await connect(reply(buildResponse(body, gzip)));
    expect(await faultOf(send(createCollector().sink))).toMatchObject({ kind: 'body-corrupt', sent: true });
  });

  it.each(['br', 'deflate', 'zstd', 'gzip, gzip'])('in the encoding %s is refused', async (encoding) => {
    const { send } = await connect(reply(buildResponse(zipped, { 'content-encoding': encoding })));
    expect(await faultOf(send(createCollector().sink))).toMatchObject({ kind: 'encoding-refused' });
  });

  it('that is, or unpacks to, more than the limit ends there', async () => {
    for (const bytes of [
      buildResponse(gzipSync(Buffer.alloc(20_000_000)), gzip),
      buildResponse(' '.repeat(2_000_000)),
    ]) {
      const { send } = await connect(reply(bytes));
      const sending = send(createCollector().sink, { body: { maxBytes: 1_000_000 } });
      expect(await faultOf(sending)).toMatchObject({ kind: 'body-too-large' });
    }
  });

  it('that stops is a timeout', async () => {
    const half = await connect(reply('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n12345'), { idleMs: 50 });
    const stopped = half.send(createCollector().sink, { body: { deadline: 'idle' } });
    expect(await faultOf(stopped)).toMatchObject({
      kind: 'timeout',
      detail: 'no more of the body within 50 ms',
    });
  });

  it('ends with the signal, before and after its last byte, once the sink knows', async () => {
    const { send } = await connect(({ n, socket }) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n${'1'.repeat(n === 0 ? 5 : 10)}`);
    });
    for (const wanted of [5, 10]) {
      const run = new AbortController();
      const reached = Promise.withResolvers<void>();
      let seen = 0;
      let hasLeft = false;
      const sending = send(
        async (chunks) => {
          try {
            for await (const chunk of chunks) {
              seen += chunk.length;
              if (seen < wanted) continue;
              reached.resolve();
              await untilAborted(run.signal);
            }
          } finally {
            hasLeft = true;
          }
        },
        { signal: run.signal },
      );
      sending.catch(() => undefined);
      await reached.promise;
      run.abort(new Error('stop'));
      expect(await faultOf(sending)).toMatchObject({ kind: 'aborted', sent: true });
      expect(hasLeft).toBe(true);
    }
  });
});

describe('a client with a sink', () => {
  const url = new URL('https://analytics.example.com/api/v1/all');
  const limits = {
    ceilingPerWindow: undefined,
    windowMs: 3_600_000,
    defaultPerWindow: 600,
    burstPerSecond: 10,
    reserve: 0,
  };

  function script(answers: readonly Scripted[]): ApiClient {
    const clock = createVirtualClock();
    const transport = createScriptedTransport(clock, answers);
    const quota = new Quota({ store: createMemoryQuotaStore(), limits, clock, maxWaitMs: Infinity });
    const credentials = { kind: 'api-key', secret: 'key-0123456789' } as const;
    return createApiClient({
      connector: analyticsRead,
      credentials,
      quota,
      transport,
      clock,
      random: () => 0.5,
    });
  }

  it('hands the body over for a transport that knows no sinks', async () => {
    const { bodies, sink } = createCollector();
    const client = script([{ status: 200, body: '{"a":1}' }]);
    const answer = await client.get({ stream: 's', url, sink });
    expect([bodies, answer.body.length]).toEqual([['{"a":1}'], 0]);
  });

  it('restarts with each try, and hands nothing over of invalid answers', async () => {
    const { bodies, sink } = createCollector();
    const cut = new TransportFault('cut', 'cut in the body', { sent: true });
    const answers = [
      { status: 500, body: 'oops' },
      cut,
      { status: 429, body: '{}' },
      { status: 200, body: '[1]' },
    ];
    const client = script(answers);
    await client.get({ stream: 's', url, sink });
    expect(bodies).toEqual(['[1]']);
    expect(client.usage).toMatchObject({ requests: 4, retries: 3 });
  });

  it('asks once more for what `accept` finds unreadable after the sink', async () => {
    const { bodies, sink } = createCollector();
    const accept: ApiRequest['accept'] = (response) => {
      if (bodies.at(-1) !== '[1]')
        throw new ResponseError('cut', { code: 'page_unreadable', hint: String(response.status) });
    };
    await script([
      { status: 200, body: '[1' },
      { status: 200, body: '[1]' },
    ]).get({ stream: 's', url, sink, accept });
    expect(bodies).toEqual(['[1', '[1]']);
    const twice = script([
      { status: 200, body: '[' },
      { status: 200, body: '[' },
    ]);
    await expect(twice.get({ stream: 's', url, sink, accept })).rejects.toMatchObject({
      code: 'page_unreadable',
    });
  });

  it('does not retry what the sink itself failed at', async () => {
    const full = new StorageError('no space', { code: 'storage_failed', hint: 'Free some.' });
    const client = script([{ status: 200, body: '[1]' }]);
    await expect(client.get({ stream: 's', url, sink: () => Promise.reject(full) })).rejects.toBe(full);
    expect(client.usage.requests).toBe(1);
  });
});

/** What a count stands at once it no longer grows. */
async function untilItStands(read: () => number): Promise<number> {
  let last = -1;
  await vi.waitUntil(
    () => {
      const before = last;
      last = read();
      return last === before;
    },
    { interval: 100, timeout: 30_000 },
  );
  return last;
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** The same bytes with one bit changed; a negative place counts from the end. */
function flip(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  const place = at < 0 ? copy.length + at : at;
  copy[place] = (copy[place] ?? 0) ^ 1;
  return copy;
}
