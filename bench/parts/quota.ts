import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { connectors } from '../../connectors/registry.ts';
import { parseConfig } from '../../src/config/load-config.ts';
import { resolveSettings } from '../../src/config/resolve-settings.ts';
import type { Clock } from '../../src/model/clock.ts';
import type { Transport } from '../../src/model/http.ts';
import { runSync } from '../../src/sync/run.ts';
import { DEMO_SIZES, type DatasetSizes } from '../../src/simulator/dataset.ts';
import { DEMO_KEY } from '../../src/simulator/simulator-options.ts';
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { type Finding, type PartOptions, writeCount, writeGoal, writeNumber } from '../support/finding.ts';
import { createHoursClock } from '../support/hours-clock.ts';

const HOUR_MS = 3_600_000;
const FIRST_DAY = '2026-01-31';
const PER_HOUR = 600;
const PER_SECOND = 10;
const PAGE_SIZE = 100;
const LOOKBACK_DAYS = 3;
/** There and back. */
const TRAVEL_MS = 100;

/** Records of each endpoint, by path. */
type Counts = Readonly<Record<string, number>>;

const streams = [
  { path: 'visibility/mentions', paged: false, dated: true },
  { path: 'prompts/analytics', paged: true, dated: true },
  { path: 'commerce/category-products', paged: true, dated: false },
  { path: 'commerce/top-products', paged: true, dated: true },
];

/** What runs took, and the least they could have taken. */
interface Tally {
  readonly requests: number;
  readonly leastRequests: number;
  readonly ms: number;
  readonly leastMs: number;
}

interface Month {
  readonly name: string;
  readonly days: readonly Tally[];
  readonly rateLimited: number;
}

/** Requests and time under the quota, on a clock that does not wait: a month of daily syncs of the four streams. */
export async function measureQuota(options: PartOptions): Promise<readonly Finding[]> {
  // The size is how much a day brings, as a multiple of the demo's.
  const largest = options.size ?? 80;
  const days = options.repeats ?? 30;
  const scales = [...new Set([1, Math.ceil(largest / 8), largest])];
  const months: Month[] = [];
  for (const scale of scales) {
    const name = `${writeCount(scale)} times the demo's data`;
    options.say(`quota: a month of ${name}`);
    months.push(await syncMonth(name, sizesOf(scale), days, join(options.folder, `month-${scale}`)));
  }
  return [tabulate(months)];
}

/** Days bring so many times as many rows; the catalogue, which is read in full each day, grows less. */
function sizesOf(scale: number): DatasetSizes {
  return {
    ...DEMO_SIZES,
    prompts: DEMO_SIZES.prompts * scale,
    mentionsPerDay: DEMO_SIZES.mentionsPerDay * scale,
    ranksPerRegion: DEMO_SIZES.ranksPerRegion * scale,
    categories: Math.ceil(DEMO_SIZES.categories * Math.sqrt(scale)),
  };
}

async function syncMonth(name: string, sizes: DatasetSizes, days: number, folder: string): Promise<Month> {
  mkdirSync(folder);
  const clock = createHoursClock(Date.parse(`${FIRST_DAY}T12:00:00Z`));
  const startedAtMs = clock.now();
  const simulator = createSimulator({
    day: FIRST_DAY,
    sizes,
    rateLimit: { requestsPerHour: PER_HOUR, burstPerSecond: PER_SECOND },
  });
  const transport = reach(simulator, clock);
  const tallies: Tally[] = [];
  for (let at = 0; at < days; at += 1) {
    await clock.sleep(startedAtMs + at * 24 * HOUR_MS - clock.now());
    const taken = await syncDay(folder, clock, transport);
    const leastRequests = countLeast(at, simulator.countRows(), sizes.historyDays);
    tallies.push({ ...taken, leastRequests, leastMs: countLeastMs(leastRequests) });
    simulator.advanceDay();
  }
  rmSync(folder, { recursive: true });
  return { name, days: tallies, rateLimited: simulator.arrivals.rateLimited };
}

async function syncDay(
  folder: string,
  clock: Clock,
  transport: Transport,
): Promise<Pick<Tally, 'requests' | 'ms'>> {
  const loaded = parseConfig(
    {
      source: {
        connector: 'analytics-read',
        baseUrl: 'http://127.0.0.1:9/api/v1',
        apiKey: DEMO_KEY,
        quota: { ledgerDir: './quota' },
      },
      destination: { duckdb: './warehouse.duckdb' },
      stateDir: './state',
    },
    folder,
  );
  const beganAtMs = clock.now();
  const settings = resolveSettings({ loaded, connectors, env: {}, nowMs: beganAtMs });
  const report = await runSync(settings, { clock, transport, random: () => 0.5 });
  if (report.exitCode !== 0) throw new Error(JSON.stringify(report.error));
  return { requests: report.requests, ms: clock.now() - beganAtMs };
}

/**
 * The least requests that bring what the settings ask for on a day: a request for each page of it, full pages and
 * nothing twice. Asked for is everything on the first day, and of a stream whose dates the API does not
 * honour every day; else the rows dated since the newest ones of the day before, less the lookback.
 */
function countLeast(at: number, counts: Counts, historyDays: number): number {
  return streams.reduce((sum, { path, paged, dated }) => {
    if (!paged) return sum + 1;
    const rows = counts[path] ?? 0;
    // The newest day there was, the lookback before it, and the day that has come since.
    const asked = at === 0 || !dated ? rows : (rows / (historyDays + at)) * (1 + LOOKBACK_DAYS + 1);
    return sum + Math.max(1, Math.ceil(asked / PAGE_SIZE));
  }, 0);
}

/** The least time for so many requests: whole windows, then ten at once every second, and the last one's way. */
function countLeastMs(requests: number): number {
  const windows = Math.ceil(requests / PER_HOUR) - 1;
  const inLast = requests - windows * PER_HOUR;
  return windows * HOUR_MS + (Math.ceil(inLast / PER_SECOND) - 1) * 1_000 + TRAVEL_MS;
}

/** Takes requests to the simulator without sockets, on the clock that does not wait. */
function reach(simulator: Simulator, clock: Clock): Transport {
  return {
    async send({ url, headers, signal, onHead }) {
      await clock.sleep(TRAVEL_MS / 2, signal);
      const request = { method: 'GET', path: `${url.pathname}${url.search}`, headers };
      const answer = simulator.handle(request, clock.now());
      await clock.sleep(TRAVEL_MS / 2, signal);
      onHead?.({ status: answer.status, headers: answer.headers });
      return { status: answer.status, headers: answer.headers, body: Buffer.from(answer.body) };
    },
    close: () => Promise.resolve(),
  };
}

function judge(months: readonly Month[]): readonly string[] {
  const largest = months.at(-1);
  const sum = (tallies: readonly Tally[] = [], of: keyof Tally) =>
    tallies.reduce((total, tally) => total + tally[of], 0);
  const requests = sum(largest?.days, 'requests') / sum(largest?.days, 'leastRequests');
  // A run that fits into one window is over in seconds either way.
  const waits = largest?.days.filter(({ leastRequests }) => leastRequests > PER_HOUR);
  const time = sum(waits, 'ms') / sum(waits, 'leastMs');
  const refused = months.reduce((total, { rateLimited }) => total + rateLimited, 0);
  const over = (ratio: number) => `+${writeNumber((ratio - 1) * 100)} %`;
  return [
    writeGoal(`${largest?.name ?? ''}: requests within 2 % of the least`, requests <= 1.02, over(requests)),
    ...(waits === undefined || waits.length === 0
      ? []
      : [writeGoal('runs longer than a window: time within 1 % of the least', time <= 1.01, over(time))]),
    writeGoal('no 429', refused === 0, writeCount(refused)),
  ];
}

function tabulate(months: readonly Month[]): Finding {
  const more = (value: number, least: number) => `+${writeNumber((value / least - 1) * 100)} %`;
  const rows = months.flatMap(({ name, days, rateLimited }) => {
    const parts = [
      { what: 'first sync', tallies: days.slice(0, 1) },
      { what: `${days.length - 1} daily syncs`, tallies: days.slice(1) },
      { what: 'together', tallies: days },
    ];
    return parts.map(({ what, tallies }) => {
      const sum = (of: keyof Tally) => tallies.reduce((total, tally) => total + tally[of], 0);
      return [
        `${name}: ${what}`,
        writeCount(sum('requests')),
        writeCount(sum('leastRequests')),
        more(sum('requests'), sum('leastRequests')),
        writeCount(sum('ms') / 1_000),
        writeCount(sum('leastMs') / 1_000),
        more(sum('ms'), sum('leastMs')),
        what === 'together' ? writeCount(rateLimited) : '',
      ];
    });
  });
  return {
    title: `${months[0]?.days.length ?? 0} daily syncs of four streams at ${PER_HOUR} requests an hour, ${PER_SECOND} a second`,
    head: ['', 'requests', 'least', 'over', 'time, s', 'least', 'over', '429s'],
    rows,
    notes: [
      ...judge(months),
      `Least requests: one for each page of ${PAGE_SIZE} of what the settings ask for, and one for the stream without pages: everything on the first day; later the rows since the newest of the day before less the lookback of ${LOOKBACK_DAYS} days, and all of \`commerce_category_products\`, whose endpoint honours no date. No joint, no second look at the head, no probe.`,
      `Least time: whole hourly windows of ${PER_HOUR}, then ${PER_SECOND} requests at once every second, and one way there and back (${TRAVEL_MS} ms); the local work takes no time on this clock.`,
    ],
  };
}
