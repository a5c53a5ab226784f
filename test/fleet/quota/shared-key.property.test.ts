import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PostgresQuotaStore } from '../../../src/fleet/quota/postgres-quota-store.ts';
import { attemptRequest, type AttemptTools } from '../../../src/http/attempt.ts';
import { Quota } from '../../../src/http/quota.ts';
import type { QuotaLimits } from '../../../src/model/quota.ts';
import { createFakePostgres } from '../../support/fake-postgres.ts';
import { createMachineClock } from '../../support/machine-clock.ts';
import { createModelApi, findLargestBurst, type ModelApi } from '../../support/model-api.ts';
import { countRuns } from '../../support/seeds.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';

const HOUR_MS = 3_600_000;
const headerNames = {
  limit: 'X-RateLimit-Limit',
  remaining: 'X-RateLimit-Remaining',
  reset: 'X-RateLimit-Reset',
};
const request = { stream: 's', url: new URL('https://api.example.com/v1/x') };
const options = { signal: new AbortController().signal, isRetry: false };

interface Machine {
  readonly skewMs: number;
  readonly ppm: number;
  readonly bootMs: number;
  readonly steps: readonly { readonly afterMs: number; readonly byMs: number }[];
}

interface Plan {
  readonly requestsPerHour: number;
  readonly burstPerSecond: number;
  readonly machines: readonly Machine[];
  readonly workers: number;
  readonly windows: number;
  readonly serverSkewMs: number;
  readonly serverPpm: number;
  /** On the way to Postgres and back, ms: round trips of 18 ms, within the margin of the burst rule. */
  readonly wireMs: readonly number[];
  readonly thereMs: readonly number[];
  readonly backMs: readonly number[];
  readonly faults: readonly ('none' | 'headers-missing' | 'server-error' | 'lost-after')[];
}

const skewMs = fc.oneof(fc.constantFrom(-HOUR_MS, HOUR_MS), fc.integer({ min: -HOUR_MS, max: HOUR_MS }));
const ppm = fc.integer({ min: -300, max: 300 });

const plan = (faults: Plan['faults'], maxSteps: number): fc.Arbitrary<Plan> =>
  fc.record({
    requestsPerHour: fc.integer({ min: 1, max: 40 }),
    burstPerSecond: fc.integer({ min: 1, max: 12 }),
    machines: fc.array(
      fc.record({
        skewMs,
        ppm,
        bootMs: fc.integer({ min: 0, max: 1e9 }),
        steps: fc.array(
          fc.record({
            afterMs: fc.oneof(fc.integer({ min: 0, max: 3_000 }), fc.integer({ min: 0, max: 2 * HOUR_MS })),
            byMs: fc.integer({ min: -HOUR_MS, max: HOUR_MS }),
          }),
          { maxLength: maxSteps },
        ),
      }),
      { minLength: 1, maxLength: 3 },
    ),
    workers: fc.integer({ min: 1, max: 8 }),
    windows: fc.integer({ min: 1, max: 3 }),
    serverSkewMs: skewMs,
    serverPpm: ppm,
    wireMs: fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 8 }),
    thereMs: fc.array(fc.integer({ min: 0, max: 6_000 }), { minLength: 1, maxLength: 12 }),
    backMs: fc.array(fc.integer({ min: 0, max: 2_000 }), { minLength: 1, maxLength: 12 }),
    faults: fc.array(fc.constantFrom('none' as const, ...faults), { minLength: 1, maxLength: 9 }),
  });

async function play(plan: Plan): Promise<{ readonly api: ModelApi; readonly clock: VirtualClock }> {
  const clock = createVirtualClock();
  const api = createModelApi({
    ...plan,
    clock,
    latency: (n) => ({ thereMs: pick(plan.thereMs, n), backMs: pick(plan.backMs, n) }),
    fault: (n) => pick(plan.faults, n),
  });
  const startMs = clock.now() + plan.serverSkewMs;
  const server = createFakePostgres({
    clock,
    readTime: (monotonicMs) => startMs + monotonicMs * (1 + plan.serverPpm / 1e6),
  });
  let wireUses = 0;
  const takeTime = () => ({ thereMs: pick(plan.wireMs, wireUses++), backMs: pick(plan.wireMs, wireUses++) });
  let left = plan.requestsPerHour * plan.windows + 1;
  const stop = new AbortController();
  const jobs: Promise<void>[] = [];
  const stepping: Promise<void>[] = [];
  const stores: PostgresQuotaStore[] = [];
  for (const [at, machine] of plan.machines.entries()) {
    const own = createMachineClock(clock, machine);
    const connect = () => server.connect({ takeTime });
    const store = new PostgresQuotaStore({ connect, keyHash: 'key', clock: own });
    stores.push(store);
    const limits: QuotaLimits = {
      ceilingPerWindow: undefined,
      windowMs: HOUR_MS,
      defaultPerWindow: plan.requestsPerHour,
      burstPerSecond: plan.burstPerSecond,
      reserve: 0,
    };
    const tools: AttemptTools = {
      quota: new Quota({ store, limits, clock: own, maxWaitMs: Infinity, owner: `m${at}` }),
      transport: api,
      clock: own,
      random: () => 0.5,
      linger: (signal) => signal,
      headers: {},
      window: { names: headerNames, windowMs: HOUR_MS },
      onWarning: () => {},
    };
    for (let w = 0; w < plan.workers; w++) {
      const work = async () => {
        while (left-- > 0) await attemptRequest(tools, request, options);
      };
      jobs.push(work());
    }
    const step = async () => {
      for (const { afterMs, byMs } of machine.steps) {
        await clock.sleep(afterMs, stop.signal).catch(() => {});
        if (stop.signal.aborted) return;
        own.stepWall(byMs);
      }
    };
    stepping.push(step());
  }
  await Promise.all(jobs);
  stop.abort();
  await Promise.all(stepping);
  for (const store of stores) {
    expect(store.warning).toBeUndefined();
    await store.close();
  }
  return { api, clock };
}

function pick<T>(list: readonly T[], n: number): T {
  return list[n % list.length] as T;
}

describe('a key of several machines whose clocks differ and drift', () => {
  it('never exceeds a window or a sliding second, and waits no longer than one machine would', async () => {
    await fc.assert(
      fc.asyncProperty(plan([], 0), async (plan) => {
        const { api, clock } = await play(plan);
        expect(clock.monotonic()).toBeLessThan(plan.windows * HOUR_MS + 600_000);
        expect(Math.max(...api.windowCounts)).toBeLessThanOrEqual(plan.requestsPerHour);
        expect(findLargestBurst(api.arrivalsMs)).toBeLessThanOrEqual(plan.burstPerSecond);
        expect(api.rejectedCount).toBe(0);
      }),
      { numRuns: countRuns(60) },
    );
  });

  it('keeps both limits while their clocks are set', async () => {
    await fc.assert(
      fc.asyncProperty(plan([], 3), async (plan) => {
        const { api, clock } = await play(plan);
        expect(clock.monotonic()).toBeLessThan(plan.windows * HOUR_MS + 600_000);
        expect(Math.max(...api.windowCounts)).toBeLessThanOrEqual(plan.requestsPerHour);
        expect(findLargestBurst(api.arrivalsMs)).toBeLessThanOrEqual(plan.burstPerSecond);
        expect(api.rejectedCount).toBe(0);
      }),
      { numRuns: countRuns(60) },
    );
  });

  it('keeps both limits by its own count while headers are missing and requests fail', async () => {
    await fc.assert(
      fc.asyncProperty(plan(['lost-after', 'server-error', 'headers-missing'], 0), async (plan) => {
        const { api } = await play(plan);
        expect(Math.max(0, ...api.windowCounts)).toBeLessThanOrEqual(plan.requestsPerHour);
        expect(findLargestBurst(api.arrivalsMs)).toBeLessThanOrEqual(plan.burstPerSecond);
        expect(api.rejectedCount).toBe(0);
      }),
      { numRuns: countRuns(60) },
    );
  });
});
