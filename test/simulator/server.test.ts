import { once } from 'node:events';
import { Agent, request } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';

import type { Clock } from '../../src/model/clock.ts';
import { systemClock } from '../../src/model/clock.ts';
import { handleControl } from '../../src/simulator/control.ts';
import { breakConnection, delay, dropConnection, hang } from '../../src/simulator/fault-effects.ts';
import { when } from '../../src/simulator/faults.ts';
import type { Fault } from '../../src/simulator/faults.ts';
import { startSimulatorServer } from '../../src/simulator/server.ts';
import type { SimulatorServer, SimulatorServerOptions } from '../../src/simulator/server.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { DEMO_KEY } from '../../src/simulator/simulator-options.ts';
import { numbered } from './ask.ts';

const running: SimulatorServer[] = [];

afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.close()));
});

async function serve(faults: readonly Fault[] = [], options: SimulatorServerOptions = {}) {
  const simulator = createSimulator({ ...numbered(1000), faults });
  const server = await startSimulatorServer(simulator, options);
  running.push(server);
  return { simulator, server };
}

interface Received {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Plain node:http, because fetch hides encodings and broken bodies. */
async function get(
  url: string,
  options: { headers?: Record<string, string>; method?: string; agent?: Agent } = {},
) {
  const headers = { 'x-api-key': DEMO_KEY, ...options.headers };
  const sent = request(url, { ...options, headers });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const received: Received = {
    status: response.statusCode,
    headers: response.headers,
    body: Buffer.concat(chunks),
  };
  return received;
}

describe('the simulator on a socket', () => {
  it('answers as it does without one, on a free port of loopback', async () => {
    const { simulator, server } = await serve();
    expect(server.baseUrl).toBe(`http://127.0.0.1:${server.port}/api/v1`);
    const { status, headers, body } = await get(`${server.baseUrl}/numbers?limit=1`);
    expect(status).toBe(200);
    expect(headers['x-ratelimit-limit']).toBe('1000000');
    expect(JSON.parse(body.toString())).toMatchObject({ data: [{ id: 0 }], pagination: { total: 1000 } });
    expect(simulator.log).toHaveLength(1);
  });

  it('compresses for clients that accept it, and for no others', async () => {
    const { server } = await serve();
    const url = `${server.baseUrl}/numbers`;
    const plain = await get(url);
    const zipped = await get(url, { headers: { 'accept-encoding': 'br, gzip;q=0.5' } });
    const declined = await get(url, { headers: { 'accept-encoding': 'gzip;q=0' } });
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(declined.headers['content-encoding']).toBeUndefined();
    expect(zipped.headers['content-encoding']).toBe('gzip');
    expect(zipped.headers['content-length']).toBe(String(zipped.body.length));
    expect(gunzipSync(zipped.body)).toEqual(plain.body);
  });

  it('does not compress when told not to', async () => {
    const { server } = await serve([], { gzip: false });
    const { headers } = await get(`${server.baseUrl}/numbers`, { headers: { 'accept-encoding': 'gzip' } });
    expect(headers['content-encoding']).toBeUndefined();
  });

  it('drops a connection without a byte, and serves the next one', async () => {
    const { server } = await serve([when({ nth: 1 }, dropConnection())]);
    const url = `${server.baseUrl}/numbers`;
    await expect(get(url)).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect((await get(url)).status).toBe(200);
  });

  it('cuts a connection in the middle of the body', async () => {
    const { server } = await serve([breakConnection('cut')]);
    await expect(get(`${server.baseUrl}/numbers`)).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  it('delays on its clock', async () => {
    const slept: number[] = [];
    const clock: Clock = {
      ...systemClock,
      sleep(ms) {
        slept.push(ms);
        return Promise.resolve();
      },
    };
    const { server } = await serve([delay(86_400_000)], { clock });
    expect((await get(`${server.baseUrl}/numbers`)).status).toBe(200);
    expect(slept).toEqual([86_400_000]);
  });

  it('keeps its own time when the wall clock is set', async () => {
    let setByMs = 0;
    const clock: Clock = { ...systemClock, now: () => systemClock.now() + setByMs };
    const { simulator, server } = await serve([], { clock });
    await get(`${server.baseUrl}/numbers`);
    setByMs = -86_400_000;
    await get(`${server.baseUrl}/numbers`);
    const [first, second] = simulator.log;
    expect(second?.atMs).toBeGreaterThan(first?.atMs ?? Infinity);
  });

  it('answers 500 with the reason when a test’s own records throw', async () => {
    const { simulator, server } = await serve();
    simulator.editRecords('numbers', () => {
      throw new Error('no such fixture');
    });
    const { status, body } = await get(`${server.baseUrl}/numbers`);
    expect(status).toBe(500);
    expect(body.toString()).toContain('no such fixture');
  });

  it('refuses to start on a port that is taken', async () => {
    const { simulator, server } = await serve();
    await expect(startSimulatorServer(simulator, { port: server.port })).rejects.toMatchObject({
      code: 'EADDRINUSE',
    });
  });
});

describe('closing', () => {
  it('ends idle, hanging and delayed connections at once', async () => {
    const faults = [when({ nth: 2 }, hang()), when({ nth: 3 }, delay(86_400_000))];
    const { simulator, server } = await serve(faults);
    const url = `${server.baseUrl}/numbers`;
    const agent = new Agent({ keepAlive: true });
    await get(url, { agent });
    const waiting = [get(url), get(url)].map((answer) => answer.catch((error: unknown) => error));
    while (simulator.log.length < 3) await new Promise(setImmediate);

    await server.close();
    for (const ended of await Promise.all(waiting)) expect(ended).toMatchObject({ code: 'ECONNRESET' });
    agent.destroy();
  });

  it('may happen twice', async () => {
    const { server } = await serve();
    await server.close();
    await server.close();
  });
});

describe('the controls', () => {
  it('report the state and advance the day, without a key and outside the limits', async () => {
    const { simulator, server } = await serve();
    await get(`${server.baseUrl}/numbers`);
    const state = await get(`${server.origin}/_simulator/state`);
    expect(JSON.parse(state.body.toString())).toEqual({
      day: '2026-01-31',
      requests: 1,
      rateLimited: 0,
      rows: { numbers: 1000 },
    });
    await get(`${server.origin}/_simulator/advance-day`, { method: 'POST' });
    expect(simulator.day).toBe('2026-02-01');
    await get(`${server.origin}/_simulator/advance-day?days=3`, { method: 'POST' });
    expect(simulator.day).toBe('2026-02-04');
    expect(simulator.log).toHaveLength(1);
  });

  it('refuse wrong days, unknown actions and reading that would change something', async () => {
    const { simulator, server } = await serve();
    const control = async (method: string, path: string) =>
      (await get(`${server.origin}/_simulator/${path}`, { method })).status;
    expect(await control('POST', 'advance-day?days=-1')).toBe(400);
    expect(await control('GET', 'advance-day')).toBe(404);
    expect(await control('POST', 'explode')).toBe(404);
    expect(simulator.day).toBe('2026-01-31');
  });

  it('answer to loopback only', () => {
    const simulator = createSimulator();
    const read = (address: string | undefined) =>
      handleControl(simulator, { method: 'GET', path: '/_simulator/state', headers: {} }, address).status;
    expect(['127.0.0.1', '::1', '::ffff:127.0.0.1'].map(read)).toEqual([200, 200, 200]);
    expect(['10.0.0.7', '::ffff:10.0.0.7', '::12', undefined].map(read)).toEqual([403, 403, 403, 403]);
  });
});
