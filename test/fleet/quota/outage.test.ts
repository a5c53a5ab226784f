import { describe, expect, it } from 'vitest';
import { PostgresQuotaStore } from '../../../src/fleet/quota/postgres-quota-store.ts';
import { RETRY_AFTER_MS, STEP_DEADLINE_MS } from '../../../src/fleet/quota/quota-connection.ts';
import type { QuotaLimits, QuotaState } from '../../../src/model/quota.ts';
import { attemptRequest } from '../../../src/http/attempt.ts';
import { Quota } from '../../../src/http/quota.ts';
import { count, read } from '../../state/quota-store-conformance.ts';
import { createFakePostgres, type FakeWire } from '../../support/fake-postgres.ts';
import { createMachineClock } from '../../support/machine-clock.ts';
import { createModelApi, findLargestBurst, type ModelApi } from '../../support/model-api.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';

const HOUR_MS = 3_600_000;
const request = { stream: 's', url: new URL('https://api.example.com/v1/x') };

function setUp() {
  const clock = createVirtualClock();
  const startMs = clock.now() + 20 * 60_000;
  const server = createFakePostgres({ clock, readTime: (ms) => startMs + ms * (1 + 50 / 1e6) });
  const takeTime = () => ({ thereMs: 4, backMs: 3 });
  const openMachine = (skewMs: number, wire: FakeWire = {}) => {
    const own = createMachineClock(clock, { skewMs, ppm: -50, bootMs: Math.abs(skewMs) });
    const connect = () => server.connect(Object.assign(wire, { takeTime }));
    return { own, wire, store: new PostgresQuotaStore({ connect, keyHash: 'key', clock: own }) };
  };
  return { clock, server, openMachine };
}

type Machine = ReturnType<ReturnType<typeof setUp>['openMachine']>;

/** Lets lanes of every machine send as fast as they may, until so many requests were answered. */
async function send(
  machines: readonly Machine[],
  api: ModelApi,
  { requests, requestsPerHour }: { readonly requests: number; readonly requestsPerHour: number },
): Promise<void> {
  let left = requests;
  const limits: QuotaLimits = {
    ceilingPerWindow: undefined,
    windowMs: HOUR_MS,
    defaultPerWindow: requestsPerHour,
    burstPerSecond: 10,
    reserve: 0,
  };
  const names = {
    limit: 'X-RateLimit-Limit',
    remaining: 'X-RateLimit-Remaining',
    reset: 'X-RateLimit-Reset',
  };
  const lanes = machines.flatMap(({ own, store }, at) => {
    const quota = new Quota({ store, limits, clock: own, maxWaitMs: Infinity, owner: `m${at}` });
    const tools = {
      quota,
      transport: api,
      clock: own,
      random: () => 0.5,
      linger: (signal: AbortSignal) => signal,
      headers: {},
      window: { names, windowMs: HOUR_MS },
      onWarning: () => {},
    };
    const options = { signal: new AbortController().signal, isRetry: false };
    return Array.from({ length: 4 }, async () => {
      while (left-- > 0) await attemptRequest(tools, request, options);
      await quota.flush();
    });
  });
  await Promise.all(lanes);
}

function createApi(clock: VirtualClock, requestsPerHour: number): ModelApi {
  const latency = () => ({ thereMs: 20, backMs: 20 });
  return createModelApi({ clock, requestsPerHour, burstPerSecond: 10, latency });
}

describe('two machines whose clocks are two hours apart', () => {
  it('share a burst and a window, and wait no longer than they must', async () => {
    const { clock, openMachine } = setUp();
    const machines = [openMachine(-HOUR_MS), openMachine(HOUR_MS)];
    const api = createApi(clock, 200);
    await send(machines, api, { requests: 450, requestsPerHour: 200 });
    expect(api.rejectedCount).toBe(0);
    expect(findLargestBurst(api.arrivalsMs)).toBe(10);
    expect(api.windowCounts).toEqual([200, 200, 50]);
    // 200 requests at 10 a second, each slot held for its way there and back as well, and the wait for two windows.
    expect(api.arrivalsMs[199]).toBeLessThan(25_000);
    expect(clock.monotonic()).toBeLessThan(2 * HOUR_MS + 20_000);
    expect(machines.map(({ store }) => store.warning)).toEqual([undefined, undefined]);
  });

  it('see a state of one another, which no number of moves changes', async () => {
    const { openMachine } = setUp();
    const [one, other] = [openMachine(-HOUR_MS + 12_345), openMachine(HOUR_MS - 678)];
    const at = one.own.now();
    const state: Partial<QuotaState> = {
      lastUsedAtMs: at,
      window: { limit: 600, remaining: 5, resetAtMs: at + 1_000_000, seenAtMs: at },
      sendsByMinute: [[Math.floor(at / 60_000), 7]],
      burstBusy: [[at + 1_020, 3]],
    };
    await one.store.update((before) => ({ state: { ...before, ...state }, result: undefined }));
    const first = await read(other.store);
    for (let n = 0; n < 50; n++) for (const { store } of [one, other]) await count(store);
    const { consecutive429s, ...last } = await read(other.store);
    expect(consecutive429s).toBe(100);
    expect(last).toEqual({ ...last, ...pickTimes(first) });
    const told = first.sendsByMinute.map(([minute]) => Math.round(minute * 60_000) - first.lastUsedAtMs);
    expect(told).toEqual([Math.floor(at / 60_000) * 60_000 - at]);
  });
});

function pickTimes({ lastUsedAtMs, window, sendsByMinute, burstBusy }: QuotaState): Partial<QuotaState> {
  return { lastUsedAtMs, window, sendsByMinute, burstBusy };
}

describe('a server that keeps the quota', () => {
  it('may stop and start while machines work: they go on, say so, and share again', async () => {
    const { clock, server, openMachine } = setUp();
    const machines = [openMachine(-HOUR_MS), openMachine(HOUR_MS)];
    const api = createApi(clock, 600);
    const warnings: (string | undefined)[] = [];
    const outage = async () => {
      await clock.sleep(5_000);
      server.stop();
      await clock.sleep(4_000);
      warnings.push(...machines.map(({ store }) => store.warning));
      server.start();
      await clock.sleep(RETRY_AFTER_MS + 2_000);
      warnings.push(...machines.map(({ store }) => store.warning));
    };
    await Promise.all([outage(), send(machines, api, { requests: 500, requestsPerHour: 600 })]);
    for (const warning of warnings.slice(0, 2))
      expect(warning).toMatch(/^the quota in Postgres cannot be used \(.+\): other processes with this key/);
    for (const warning of warnings.slice(2))
      expect(warning).toMatch(/^the quota in Postgres could not be used for a time/);
    // Alone, each of them keeps the burst limit for itself only; together again, they keep it for both.
    const shared = api.arrivalsMs.filter((at) => at < 5_000 || at > 5_000 + 4_000 + RETRY_AFTER_MS + 2_000);
    expect(findLargestBurst(shared)).toBe(10);
    expect(api.windowCounts).toEqual([api.arrivalsMs.length]);
    const [one, other] = await Promise.all(machines.map(({ store }) => read(store)));
    expect(one?.window?.remaining).toBe(600 - api.arrivalsMs.length);
    expect(other?.window?.remaining).toBe(one?.window?.remaining);
    expect(other?.inFlight).toEqual([]);
  });

  it('that is silent holds a change up until the deadline of one step, and none after it', async () => {
    const { clock, openMachine } = setUp();
    const { store, wire } = openMachine(0);
    await count(store);
    wire.isSilent = true;
    const startMs = clock.monotonic();
    expect(await count(store)).toBe(2);
    expect(clock.monotonic() - startMs).toBe(STEP_DEADLINE_MS);
    expect(store.warning).toContain('no answer within 8 seconds');
    await clock.sleep(RETRY_AFTER_MS);
    const laterMs = clock.monotonic();
    expect([await count(store), await count(store)]).toEqual([3, 4]);
    expect(clock.monotonic()).toBe(laterMs);
    wire.isSilent = false;
    await clock.sleep(STEP_DEADLINE_MS + RETRY_AFTER_MS);
    await count(store);
    await clock.sleep(100);
    expect((await read(store)).consecutive429s).toBe(5);
  });

  it('never makes a change twice, though nobody knows whether it was committed', async () => {
    const { clock, openMachine } = setUp();
    let fails = true;
    const one = openMachine(HOUR_MS, {
      beforeRun: (text) => {
        if (fails && text === 'COMMIT') throw new Error('the disk is full');
      },
    });
    const other = openMachine(0);
    let calls = 0;
    const reserve = (id: string) =>
      one.store.update((before) => {
        calls += 1;
        const inFlight = [...before.inFlight, { id, sentAtMs: one.own.now() }];
        return { state: { ...before, inFlight }, result: undefined };
      });
    await reserve('a');
    expect(calls).toBe(1);
    expect(one.store.warning).toContain('the disk is full');
    fails = false;
    expect((await read(other.store)).inFlight).toEqual([]);
    await clock.sleep(RETRY_AFTER_MS);
    await reserve('b');
    await clock.sleep(100);
    await reserve('c');
    const seen = (await read(other.store)).inFlight;
    expect(seen.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
    expect(other.own.now() - (seen[2]?.sentAtMs ?? 0)).toBeLessThan(50);
  });

  it('may show an earlier time, as after a move to another machine: nobody waits for the difference', async () => {
    const { clock, server, openMachine } = setUp();
    const machines = [openMachine(-HOUR_MS), openMachine(HOUR_MS)];
    const api = createApi(clock, 600);
    const jump = async () => {
      await clock.sleep(5_000);
      server.stepClock(-HOUR_MS);
    };
    await Promise.all([jump(), send(machines, api, { requests: 200, requestsPerHour: 600 })]);
    expect(api.rejectedCount).toBe(0);
    expect(findLargestBurst(api.arrivalsMs)).toBe(10);
    expect(clock.monotonic()).toBeLessThan(40_000);
  });
});
