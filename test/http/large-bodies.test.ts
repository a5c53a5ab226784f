import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { LARGE_BODY_BYTES, LargeBodies } from '../../src/http/large-bodies.ts';
import { createUndiciTransport } from '../../src/http/undici-transport.ts';
import { buildResponse, createRawServer } from '../support/raw-server.ts';

describe('large bodies', () => {
  function open(count: number) {
    const bodies = new LargeBodies();
    const told: number[] = [];
    const turns = Array.from({ length: count }, () => bodies.open());
    const take = (at: number) => turns[at]?.take(() => told.push(at));
    const end = (at: number) => turns[at]?.end();
    return { told, take, end };
  }

  it('have their turn one after the other, in the order they asked', () => {
    const { told, take, end } = open(3);
    expect([take(1), take(0), take(2)]).toEqual([true, false, false]);
    end(1);
    expect(told).toEqual([0]);
    end(0);
    expect(told).toEqual([0, 2]);
  });

  it('ask again without losing their place', () => {
    const { told, take, end } = open(2);
    expect([take(0), take(0), take(1), take(1)]).toEqual([true, true, false, false]);
    end(0);
    expect(told).toEqual([1]);
    expect(take(1)).toBe(true);
  });

  it('that are given up leave the queue, and those that never asked hold up nobody', () => {
    const { told, take, end } = open(4);
    take(0);
    take(1);
    take(2);
    end(1);
    end(3);
    expect(told).toEqual([]);
    end(0);
    end(0);
    expect(told).toEqual([2]);
  });
});

describe('bodies beyond that size', () => {
  it('arrive whole, many at once, plain and compressed, also when one of them fails', async () => {
    // Half of it does not compress, so that it is large on the wire as well.
    const body = Buffer.concat([randomBytes(LARGE_BODY_BYTES), Buffer.alloc(2 * LARGE_BODY_BYTES)]);
    const zipped = buildResponse(gzipSync(body, { level: 1 }), { 'content-encoding': 'gzip' });
    const plain = buildResponse(body);
    const server = await createRawServer(({ n, socket }) => {
      if (n === 2) socket.write(plain.subarray(0, plain.length / 2), () => socket.destroy());
      else socket.write(n % 2 === 0 ? plain : zipped);
    });
    const baseUrl = new URL(`http://127.0.0.1:${server.port}/v1/`);
    const transport = createUndiciTransport({ baseUrl, userAgent: 'test' });
    onTestFinished(async () => {
      await transport.close();
      await server.close();
    });
    const ends = await Promise.allSettled(
      Array.from({ length: 8 }, () => transport.send({ url: baseUrl, headers: {} })),
    );
    const whole = ends.filter((end) => end.status === 'fulfilled' && end.value.body.equals(body));
    const cut = ends.filter((end) => end.status === 'rejected');
    expect([whole.length, cut.length]).toEqual([7, 1]);
  });

  it('that are aborted while they wait let the others through', async () => {
    const body = Buffer.alloc(2 * LARGE_BODY_BYTES, 'x');
    const server = await createRawServer(({ n, socket }) => {
      // The first never ends.
      socket.write(
        n === 0 ? buildResponse(body, { 'content-length': String(body.length + 1) }) : buildResponse(body),
      );
    });
    const baseUrl = new URL(`http://127.0.0.1:${server.port}/v1/`);
    const transport = createUndiciTransport({ baseUrl, userAgent: 'test' });
    onTestFinished(async () => {
      await transport.close();
      await server.close();
    });
    const stops = [new AbortController(), new AbortController(), new AbortController()];
    const sent = stops.map(({ signal }) => transport.send({ url: baseUrl, headers: {}, signal }));
    const ends = Promise.allSettled(sent);
    await vi.waitUntil(() => server.requests.length === 3);
    stops[1]?.abort();
    await sent[1]?.catch(() => undefined);
    stops[0]?.abort();
    expect((await ends).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
  });
});
