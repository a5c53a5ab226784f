import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rateLimited, setHeaders } from '../../src/simulator/fault-effects.ts';
import { type Fault, when } from '../../src/simulator/faults.ts';
import { DEMO_KEY } from '../../src/simulator/simulator-options.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { expectRows } from '../support/published.ts';
import { createSimulatorTransport } from '../support/simulator-transport.ts';
import { countRuns } from '../support/seeds.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { createCliProject } from './kit/cli-project.ts';
import {
  countScanRequests,
  createItemsFlow,
  HOUR_MS,
  makeFolder,
  makeItems,
  START_MS,
} from '../support/sync-harness.ts';

// What fails takes that long to be made small.
const MOST_MS_TO_SHRINK = 600_000;

const ITEMS = makeItems(900);
const CLEAN = countScanRequests(900);

/** One thing a server says about its limits, and for how long it then wants to be left alone. */
interface Saying {
  readonly at: number;
  readonly fault: Fault;
  /** `reset`: until the end of its window. */
  readonly quietMs: number | 'reset';
}

const seconds = fc.integer({ min: 0, max: 400 });
const saying: fc.Arbitrary<Saying> = fc.oneof(
  fc
    .record({ at: fc.integer({ min: 1, max: CLEAN }), header: seconds, body: seconds, form: fc.nat(4) })
    .map(({ at, header, body, form }) => {
      const date = (ms: number) => new Date(START_MS + ms).toUTCString();
      const [fault, quietS] = [
        [rateLimited({ retryAfter: String(header) }), header],
        [rateLimited({ bodyRetryAfter: body }), body],
        [rateLimited({ retryAfter: String(header), bodyRetryAfter: body }), Math.max(header, body)],
        // A date is a time of the server's; half a second is lost to rounding.
        [rateLimited({ retryAfter: date(header * 1000) }), 0],
        [rateLimited({ retryAfter: '-5', bodyRetryAfter: body }), body],
      ][form] as [Fault, number];
      return { at, fault, quietMs: Math.max(1, quietS) * 1000 };
    }),
  fc.integer({ min: 1, max: CLEAN }).map((at): Saying => ({
    at,
    fault: setHeaders({ 'x-ratelimit-remaining': '0' }),
    quietMs: 'reset',
  })),
);

describe('what a server says of its limits', () => {
  it(
    'is obeyed to the end of the time it names, whatever it says and when; and the sync is complete',
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.uniqueArray(saying, { selector: ({ at }) => at, minLength: 1, maxLength: 4 }),
          async (sayings) => {
            const flow = createItemsFlow(ITEMS, {
              config: { quota: { burstPerSecond: 10 } },
              simulator: { faults: sayings.map(({ at, fault }) => when({ nth: at }, fault)) },
            });
            const report = await flow.sync();
            expect(report.exitCode).toBe(0);
            expect(await flow.rows('items')).toEqual(expectRows(ITEMS));
            const { arrivals } = flow;
            for (const { at, quietMs } of sayings) {
              const said = arrivals[at - 1];
              if (said === undefined) continue;
              const untilMs = quietMs === 'reset' ? said.windowStartMs + HOUR_MS : said.atMs + quietMs;
              // Whatever was sent with it was on its way already.
              const early = arrivals.filter(({ atMs }) => atMs > said.atMs && atMs < untilMs);
              expect(early).toEqual([]);
            }
          },
        ),
        { numRuns: countRuns(8) },
      );
    },
    MOST_MS_TO_SHRINK,
  );

  it('may be anything at all: the run ends in time, with 0 or 75, and asks no more than it must', async () => {
    const odd = fc.oneof(
      fc.constantFrom('', ' ', '-1', '0', '1.5', '0x10', '1e9', 'NaN', 'soon', '5, 10', '2147484', '1e400'),
      fc.constantFrom('99999999999999999999', String(START_MS), 'Sat, 31 Jan 2026 12:00:05 GMT', '31-Jan-26'),
      fc.string({ maxLength: 12 }),
      fc.integer().map(String),
      fc.array(fc.nat(1000).map(String), { minLength: 2, maxLength: 2 }),
      fc.constant(undefined),
    );
    const headers = fc.record({
      'x-ratelimit-limit': odd,
      'x-ratelimit-remaining': odd,
      'x-ratelimit-reset': odd,
      date: odd,
      'retry-after': odd,
    });
    await fc.assert(
      fc.asyncProperty(
        headers,
        fc.option(fc.jsonValue()),
        fc.integer({ min: 1, max: 6 }),
        async (said, body, at) => {
          const { 'retry-after': retryAfter, ...window } = said;
          const flow = createItemsFlow(makeItems(300), {
            config: { quota: { burstPerSecond: 10 } },
            simulator: {
              faults: [
                setHeaders(window),
                when(
                  { nth: at },
                  rateLimited({ ...(retryAfter !== undefined && { retryAfter }), bodyRetryAfter: body }),
                ),
              ],
            },
          });
          const report = await flow.sync({ maxWaitMs: 10 * HOUR_MS });
          expect([0, 75]).toContain(report.exitCode);
          expect(flow.arrivals.length).toBeLessThanOrEqual(countScanRequests(300) + 1);
          expect(Number.isFinite(report.waitedMs)).toBe(true);
          expect(flow.clock.now() - START_MS).toBeLessThan(11 * HOUR_MS);
          // The pause after a 429 is never shorter than a second.
          const times = flow.arrivals.map(({ atMs }) => atMs);
          const saidMs = times[at - 1] ?? Infinity;
          expect(times.filter((atMs) => atMs > saidMs && atMs < saidMs + 1_000)).toEqual([]);
        },
      ),
      { numRuns: countRuns(12) },
    );
  });
});

/** One thing a person or a scheduler does with a key. */
type Move = { readonly argv: readonly string[] } | { readonly waitMs: number };

describe('any row of commands with one key', () => {
  it('never meets a 429, and keeps the hour and the second, whatever stops and begins again', async () => {
    const limits = { requestsPerHour: 20, burstPerSecond: 4 };
    const command: fc.Arbitrary<Move> = fc
      .oneof(
        fc.constantFrom(['check'], ['plan'], ['sync'], ['sync', '--force'], ['sync', '--full-refresh']),
        fc.integer({ min: 1, max: 9 }).map((n) => ['sync', '--force', '--max-requests', String(n)]),
        fc.integer({ min: 1, max: 90 }).map((n) => ['sync', '--force', '--deadline', `${n}s`]),
      )
      .map((argv) => ({ argv: [...argv, '--max-wait', '0'].slice(0, argv[0] === 'sync' ? undefined : 1) }));
    const pause: fc.Arbitrary<Move> = fc.integer({ min: 0, max: HOUR_MS }).map((waitMs) => ({ waitMs }));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(command, pause), { minLength: 3, maxLength: 12 }), async (moves) => {
        const simulator = createSimulator({
          builtIns: false,
          rateLimit: limits,
          endpoints: { items: { paginated: true, records: () => ITEMS } },
        });
        // One project for even moves and one for odd ones: they share the ledger, and nothing else.
        const clock = createVirtualClock({ startMs: START_MS });
        const transport = () => createSimulatorTransport(simulator, clock);
        const ledgerDir = makeFolder();
        const projects = [0, 1].map(() =>
          createCliProject({
            baseUrl: 'http://127.0.0.1:9/api/v1',
            apiKey: DEMO_KEY,
            clock,
            transport,
            config: { source: { quota: { ledgerDir, burstPerSecond: limits.burstPerSecond } } },
          }),
        );
        for (const [at, move] of moves.entries()) {
          if ('waitMs' in move) await clock.sleep(move.waitMs);
          else expect([0, 75]).toContain((await projects[at % 2]?.run(move.argv))?.exitCode);
        }
        expect(simulator.arrivals.rateLimited).toBe(0);
        expect(simulator.arrivals.maxArrivalsInAnySecond()).toBeLessThanOrEqual(limits.burstPerSecond);
        for (const { requests } of simulator.arrivals.requestsPerWindow()) {
          expect(requests).toBeLessThanOrEqual(limits.requestsPerHour);
        }
      }),
      { numRuns: countRuns(6) },
    );
  });
});
