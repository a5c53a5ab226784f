import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { attemptRequest, type AttemptTools } from '../../src/http/attempt.ts';
import { createOwner } from '../../src/http/quota-owner.ts';
import { Quota } from '../../src/http/quota.ts';
import type { Transport } from '../../src/model/http.ts';
import type { QuotaLimits, QuotaStore } from '../../src/model/quota.ts';
import { createMemoryQuotaStore } from '../../state/memory-quota-store.ts';
import { createModelApi, findLargestBurst, type ModelApi, type ModelFault } from '../support/model-api.ts';
import { createScriptedTransport, rateLimitHeaders } from '../support/scripted-transport.ts';
import { countRuns } from '../support/seeds.ts';
import { createSlowQuotaServer } from '../support/slow-quota-store.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const headerNames = {
  limit: 'X-RateLimit-Limit',
  remaining: 'X-RateLimit-Remaining',
  reset: 'X-RateLimit-Reset',
};

const request = { stream: 's', url: new URL('https://api.example.com/v1/x') };
const options = { signal: new AbortController().signal, isRetry: false };
const valid = { remaining: 300, resetInMs: 3_000_000 };

interface Plan {
  readonly requestsPerHour: number;
  readonly burstPerSecond: number;
  readonly processes: number;
  readonly workers: number;
  readonly windows: number;
  readonly skewMs: number;
  readonly startMs: number;
  /** How long the store takes before each change and after it, ms: none where it is on this machine. */
  readonly storeMs: readonly number[];
  readonly window: 'first-request' | number;
  readonly reset: 'floor' | 'ceil' | 'milliseconds' | 'delta';
  readonly thereMs: readonly number[];
  readonly backMs: readonly number[];
  readonly faults: readonly ModelFault[];
  /** Steps of the wall clock: after how long, and by how much, ms. */
  readonly steps: readonly { readonly afterMs: number; readonly byMs: number }[];
}

const noSteps = fc.constant([]);
const steps = fc.array(
  fc.record({
    afterMs: fc.oneof(fc.integer({ min: 0, max: 3_000 }), fc.integer({ min: 0, max: 2 * HOUR_MS })),
    // A step within the burst rule's margin for timers cannot be distinguished from a slow reading.
    byMs: fc
      .oneof(fc.integer({ min: -3_000, max: 3_000 }), fc.integer({ min: -DAY_MS, max: DAY_MS }))
      .filter((ms) => Math.abs(ms) > 10),
  }),
  { maxLength: 4 },
);

const plan = (
  faults: readonly ModelFault[],
  stepsOfClock: fc.Arbitrary<Plan['steps']> = noSteps,
): fc.Arbitrary<Plan> =>
  fc.record({
    steps: stepsOfClock,
    requestsPerHour: fc.integer({ min: 1, max: 40 }),
    burstPerSecond: fc.integer({ min: 1, max: 12 }),
    processes: fc.integer({ min: 1, max: 3 }),
    workers: fc.integer({ min: 1, max: 8 }),
    windows: fc.integer({ min: 1, max: 3 }),
    skewMs: fc.integer({ min: -2 * DAY_MS, max: 2 * DAY_MS }),
    startMs: fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2026, 11, 31) }),
    storeMs: fc.oneof(
      fc.constant([]),
      fc.array(fc.integer({ min: 0, max: 120 }), { minLength: 1, maxLength: 8 }),
    ),
    window: fc.oneof(fc.constant('first-request' as const), fc.integer({ min: 0, max: HOUR_MS - 1 })),
    reset: fc.constantFrom('floor' as const, 'ceil' as const, 'milliseconds' as const, 'delta' as const),
    thereMs: fc.array(fc.integer({ min: 0, max: 6_000 }), { minLength: 1, maxLength: 12 }),
    backMs: fc.array(fc.integer({ min: 0, max: 2_000 }), { minLength: 1, maxLength: 12 }),
    faults: fc.array(fc.constantFrom<ModelFault>('none', ...faults), { minLength: 1, maxLength: 9 }),
  });

async function play(plan: Plan): Promise<{ readonly api: ModelApi; readonly clock: VirtualClock }> {
  const clock = createVirtualClock({ startMs: plan.startMs });
  const api = createModelApi({
    ...plan,
    clock,
    latency: (n) => ({ thereMs: pick(plan.thereMs, n), backMs: pick(plan.backMs, n) }),
    fault: (n) => pick(plan.faults, n),
  });
  const openStore = createStores(clock, plan.storeMs);
  let left = plan.requestsPerHour * plan.windows + 1;
  const process = async (tools: AttemptTools) => {
    while (left-- > 0) {
      await attemptRequest(tools, request, options);
    }
  };
  const jobs: Promise<void>[] = [];
  for (let p = 0; p < plan.processes; p++) {
    const tools = createTools(clock, api, openStore(), plan);
    for (let w = 0; w < plan.workers; w++) jobs.push(process(tools));
  }
  const stop = new AbortController();
  const stepping = stepClock(clock, plan.steps, stop.signal);
  await Promise.all(jobs);
  stop.abort();
  await stepping;
  return { api, clock };
}

/** Opens stores of one state: in memory, or on a server that is far away. */
function createStores(clock: VirtualClock, storeMs: readonly number[]): () => QuotaStore {
  if (storeMs.length === 0) {
    const store = createMemoryQuotaStore();
    return () => store;
  }
  let n = 0;
  const server = createSlowQuotaServer(() => clock.sleep(pick(storeMs, n++)));
  return () => server.open();
}

async function stepClock(clock: VirtualClock, steps: Plan['steps'], signal: AbortSignal): Promise<void> {
  for (const { afterMs, byMs } of steps) {
    await clock.sleep(afterMs, signal).catch(() => {});
    if (signal.aborted) return;
    clock.stepWall(byMs);
  }
}

function createTools(
  clock: VirtualClock,
  transport: Transport,
  store: QuotaStore,
  plan: Pick<Plan, 'requestsPerHour' | 'burstPerSecond'>,
  /** By default one that is seen to run on this machine. */
  owner = createOwner(),
): AttemptTools {
  const limits: QuotaLimits = {
    ceilingPerWindow: undefined,
    windowMs: 3_600_000,
    defaultPerWindow: plan.requestsPerHour,
    burstPerSecond: plan.burstPerSecond,
    reserve: 0,
  };
  const quota = new Quota({ store, limits, clock, maxWaitMs: Infinity, owner });
  const linger = (signal: AbortSignal) => signal;
  return {
    quota,
    transport,
    clock,
    random: () => 0.5,
    linger,
    headers: {},
    window: { names: headerNames, windowMs: HOUR_MS },
    onWarning: () => {},
  };
}

function pick<T>(list: readonly T[], n: number): T {
  return list[n % list.length] as T;
}

describe('the budget against a model of the server', () => {
  it('never exceeds a window or a sliding second, over several processes, skews and latencies', async () => {
    await fc.assert(
      fc.asyncProperty(plan([]), async (plan) => {
        const { api, clock } = await play(plan);
        expect(clock.monotonic()).toBeLessThan(plan.windows * HOUR_MS + 600_000);
        expect(Math.max(...api.windowCounts)).toBeLessThanOrEqual(plan.requestsPerHour);
        expect(findLargestBurst(api.arrivalsMs)).toBeLessThanOrEqual(plan.burstPerSecond);
        expect(api.rejectedCount).toBe(0);
      }),
      { numRuns: countRuns(60) },
    );
  });

  it('keeps both limits when requests are lost or fail, whether the server counted them or not', async () => {
    await fc.assert(
      fc.asyncProperty(
        plan(['lost-before', 'lost-after', 'server-error', 'headers-missing']),
        async (plan) => {
          const { api } = await play(plan);
          expect(Math.max(0, ...api.windowCounts)).toBeLessThanOrEqual(plan.requestsPerHour);
          expect(findLargestBurst(api.arrivalsMs)).toBeLessThanOrEqual(plan.burstPerSecond);
          expect(api.rejectedCount).toBe(0);
        },
      ),
      { numRuns: countRuns(60) },
    );
  });

  it('keeps both limits while the wall clock is set forward and back', async () => {
    await fc.assert(
      fc.asyncProperty(plan([], steps), async (plan) => {
        const { api, clock } = await play(plan);
        expect(clock.monotonic()).toBeLessThan(plan.windows * HOUR_MS + 600_000);
        expect(Math.max(...api.windowCounts)).toBeLessThanOrEqual(plan.requestsPerHour);
        expect(findLargestBurst(api.arrivalsMs)).toBeLessThanOrEqual(plan.burstPerSecond);
        expect(api.rejectedCount).toBe(0);
      }),
      { numRuns: countRuns(60) },
    );
  });
});

/** How a process ends: not yet, or killed with a request on its way and the wall clock set so far before the next one starts, ms. */
type Kill = 'none' | { readonly setByMs: number };

/** Processes that are killed with a request on their way, and started again in their folder. */
async function playKills(plan: Plan, kills: readonly Kill[]) {
  const clock = createVirtualClock({ startMs: plan.startMs });
  const latency = (n: number) => ({ thereMs: pick(plan.thereMs, n), backMs: pick(plan.backMs, n) });
  const api = createModelApi({ ...plan, clock, latency });
  const store = createMemoryQuotaStore();
  let started = 0;
  let killed = 0;
  let left = plan.requestsPerHour * plan.windows + 1;
  const open = () => createTools(clock, api, store, plan, `p${++started}`);
  const work = async () => {
    let tools = open();
    while (left-- > 0) {
      const kill = pick(kills, left);
      if (kill === 'none' || killed >= kills.length) {
        await attemptRequest(tools, request, options);
        continue;
      }
      killed += 1;
      await tools.quota.acquire();
      void api.send({ url: request.url, headers: {} });
      clock.stepWall(kill.setByMs);
      tools = open();
    }
  };
  await Promise.all(Array.from({ length: plan.processes }, work));
  return { api, tookMs: clock.monotonic(), killed };
}

describe('processes that are killed with requests on their way', () => {
  const none = fc.constant('none' as const);
  const listKills = (setByMs: fc.Arbitrary<number>) =>
    fc.array(fc.oneof(none, fc.record({ setByMs })), { minLength: 1, maxLength: 8 });

  it('keep both limits together, and a kill costs a window at most', async () => {
    await fc.assert(
      fc.asyncProperty(plan([]), listKills(fc.constant(0)), async (plan, kills) => {
        const { api, tookMs, killed } = await playKills(plan, kills);
        expect(Math.max(...api.windowCounts)).toBeLessThanOrEqual(plan.requestsPerHour);
        expect(findLargestBurst(api.arrivalsMs)).toBeLessThanOrEqual(plan.burstPerSecond);
        expect(api.rejectedCount).toBe(0);
        expect(tookMs).toBeLessThan((plan.windows + killed) * HOUR_MS + 600_000);
      }),
      { numRuns: countRuns(60) },
    );
  });

  it('start under any other clock with at most one refused request each, and wait no longer', async () => {
    const anyClock = fc.integer({ min: -2 * DAY_MS, max: 2 * DAY_MS });
    await fc.assert(
      fc.asyncProperty(plan([]), listKills(anyClock), async (all, kills) => {
        const plan = { ...all, processes: 1 };
        const { api, tookMs, killed } = await playKills(plan, kills);
        // That of the killed process, whose answer nobody sees, may be refused as well.
        expect(api.rejectedCount).toBeLessThanOrEqual(2 * killed);
        expect(tookMs).toBeLessThan((plan.windows + killed) * HOUR_MS + 600_000);
      }),
      { numRuns: countRuns(60) },
    );
  });
});

describe('a 429 with a hint', () => {
  const answer = fc.oneof(
    { weight: 3, arbitrary: fc.constant(undefined) },
    fc.record({ headerS: fc.nat(120), bodyS: fc.option(fc.nat(120), { nil: undefined }) }),
  );

  it('holds every request of the key until it is over, however they overlap', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(answer, { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 1, max: 3 }),
        async (answers, workers, processes) => {
          const clock = createVirtualClock();
          const pauses: { readonly fromMs: number; readonly untilMs: number }[] = [];
          const transport = createScriptedTransport(clock, (n) => {
            const limited = pick(answers, n);
            if (limited === undefined) return { status: 200, headers: rateLimitHeaders(clock, valid) };
            const { headerS, bodyS } = limited;
            const fromMs = clock.monotonic();
            pauses.push({ fromMs, untilMs: fromMs + Math.max(headerS, bodyS ?? 0, 1) * 1000 });
            const body = JSON.stringify({ error: { code: 'RATE_LIMIT_EXCEEDED', retryAfter: bodyS } });
            return { status: 429, headers: { 'retry-after': String(headerS) }, body };
          });
          const store = createMemoryQuotaStore();
          let left = 30;
          const work = async (tools: AttemptTools) => {
            while (left-- > 0) await attemptRequest(tools, request, options);
          };
          const limits = { requestsPerHour: 600, burstPerSecond: 10 };
          const all = Array.from({ length: processes * workers }, (_, w) =>
            work(createTools(clock, transport, store, limits, `p${w % processes}`)),
          );
          await Promise.all(all);
          for (const { atMs } of transport.sent) {
            const broken = pauses.find(({ fromMs, untilMs }) => atMs > fromMs && atMs < untilMs);
            expect(broken).toBeUndefined();
          }
        },
      ),
      { numRuns: countRuns(40) },
    );
  });
});
