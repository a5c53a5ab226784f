import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LARGE_BODY_BYTES, LargeBodies } from '../../src/http/large-bodies.ts';
import { createUndiciTransport } from '../../src/http/undici-transport.ts';
import { FakeDispatcher } from '../support/fake-dispatcher.ts';
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
    const baseUrl = new URL('http://127.0.0.1/v1/');
    const dispatcher = new FakeDispatcher();
    const transport = createUndiciTransport({ baseUrl, userAgent: 'test', dispatcher });
    const stops = [new AbortController(), new AbortController(), new AbortController()];
    const sent = stops.map(({ signal }) => transport.send({ url: baseUrl, headers: {}, signal }));
    const ends = Promise.allSettled(sent);
    const asked = () => dispatcher.exchanges.map((exchange) => exchange.asked);

    const chunk = Buffer.alloc(LARGE_BODY_BYTES + 1, 'x');
    for (const { handler, wire } of dispatcher.exchanges) {
      handler.onRequestStart(wire, undefined);
      handler.onResponseStart(wire, 200, {}, 'OK');
      handler.onResponseData(wire, chunk);
    }
    expect(asked()).toEqual([[], ['pause'], ['pause']]);
    for (const at of [1, 0]) {
      stops[at]?.abort();
      await expect(sent[at]).rejects.toMatchObject({ kind: 'aborted' });
    }
    expect(asked()).toEqual([['abort'], ['pause', 'abort'], ['pause', 'resume']]);
    const [, , last] = dispatcher.exchanges;
    last?.handler.onResponseEnd(last.wire, {});
    expect((await ends).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
    expect((await sent[2])?.body).toEqual(chunk);
  });
});
