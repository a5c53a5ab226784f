import { type Transport, TransportFault } from '../../src/model/http.ts';
import { answerPage } from './answer-page.ts';
import { createRandom } from './seeds.ts';
import { DAY_MS, HOUR_MS, START_MS } from './sync-harness.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** A record of the source. */
export interface DailyRow {
  readonly id: number;
  readonly date: string;
  readonly entity: 'a' | 'b';
  readonly amount: number;
}

export interface DailySource {
  readonly transport: Transport;
  /** The source's own time, which no wrong clock of the machine changes. */
  now(): number;
  /** The rows of the source's day; those of today when left out. */
  rows(day?: number): readonly DailyRow[];
  /** The source's day, counted from the first one. */
  day(): number;
  /** Requests that the hour allows from now on. */
  setQuota(requestsPerHour: number): void;
}

const DAYS_BEFORE = 12;
const ROWS_A_DAY = 3;

/**
 * A source that is refreshed at midnight and stands still in between: rows come, some of them late, are restated, also
 * outside any lookback, leave, and move to other days. All of it follows from the seed.
 */
export function createDailySource(clock: VirtualClock, seed: number): DailySource {
  const versions: (readonly DailyRow[])[] = [];
  let requestsPerHour = 1_000;
  let windowStart = 0;
  let used = 0;
  const now = () => START_MS + clock.monotonic();
  const day = () => Math.floor(now() / DAY_MS) - Math.floor(START_MS / DAY_MS);
  const rows = (at = day()): readonly DailyRow[] => {
    while (versions.length <= at) versions.push(refresh(versions.at(-1), versions.length, seed));
    return versions[at] ?? [];
  };

  const transport: Transport = {
    close: () => Promise.resolve(),
    async send({ url, signal, onHead }) {
      await clock.sleep(20, signal).catch(() => {
        throw new TransportFault('aborted', 'interrupted', { sent: true });
      });
      const hour = Math.floor(now() / HOUR_MS);
      if (hour !== windowStart) used = 0;
      windowStart = hour;
      const resetMs = (hour + 1) * HOUR_MS;
      const isOver = used >= requestsPerHour;
      if (!isOver) used += 1;
      const headers = {
        'content-type': 'application/json',
        date: new Date(now()).toUTCString(),
        'x-ratelimit-limit': String(requestsPerHour),
        'x-ratelimit-remaining': String(Math.max(0, requestsPerHour - used)),
        'x-ratelimit-reset': String(Math.ceil(resetMs / 1_000)),
      };
      const reply = (status: number, body: unknown) => {
        onHead?.({ status, headers });
        return { status, headers, body: Buffer.from(JSON.stringify(body)) };
      };
      if (isOver) return reply(429, { error: { code: 'RATE_LIMITED', message: 'too many' } });
      const query = url.searchParams;
      const entities = query.get('entity')?.split(',') ?? ['a', 'b'];
      const startDate = query.get('startDate') ?? '';
      const asked = rows().filter(({ date, entity }) => date >= startDate && entities.includes(entity));
      return reply(200, answerPage(asked, query));
    },
  };

  return {
    transport,
    now,
    rows,
    day,
    setQuota: (requests) => void (requestsPerHour = requests),
  };
}

function refresh(before: readonly DailyRow[] | undefined, day: number, seed: number): readonly DailyRow[] {
  const random = createRandom(seed * 1_009 + day);
  const happens = (share: number) => random() < share;
  const make = (at: number, id: number): DailyRow => ({
    id,
    date: dateOf(at),
    entity: happens(0.5) ? 'a' : 'b',
    amount: Math.floor(random() * 1_000),
  });
  if (before === undefined)
    return Array.from({ length: DAYS_BEFORE * ROWS_A_DAY }, (_, at) =>
      make(Math.floor(at / ROWS_A_DAY) - DAYS_BEFORE + 1, at),
    );
  const pick = (from: number) => Math.floor(from + random() * (before.length - from));
  const recent = Math.max(0, before.length - 2 * ROWS_A_DAY);
  let next = [...before];
  const change = (at: number, part: Partial<DailyRow>) => {
    const row = next[at];
    if (row !== undefined) next[at] = { ...row, ...part };
  };
  for (let times = 0; times < 3; times += 1) change(pick(recent), { amount: Math.floor(random() * 1_000) });
  if (happens(0.2)) change(pick(0), { amount: Math.floor(random() * 1_000) });
  if (happens(0.1)) change(pick(0), { date: dateOf(day) });
  if (happens(0.15)) {
    const gone = pick(happens(0.5) ? recent : 0);
    next = next.filter((_, at) => at !== gone);
  }
  // On a quiet day no total tells that rows were restated.
  const freshCount = happens(0.4) ? 0 : ROWS_A_DAY;
  const fresh = Array.from({ length: freshCount }, (_, at) => make(day, 1_000 + day * 10 + at));
  if (happens(0.2)) fresh.push(make(day - 9, 1_000 + day * 10 + 9));
  return [...next, ...fresh].toSorted(
    (one, other) => one.date.localeCompare(other.date) || one.id - other.id,
  );
}

function dateOf(day: number): string {
  return new Date(START_MS + day * DAY_MS).toISOString().slice(0, 10);
}
