import type { QuotaClient } from '../../src/fleet/quota/quota-table.ts';
import type { Clock } from '../../src/model/clock.ts';

/** The part of Postgres that keeps quotas: rows with locks, transactions, a clock of its own, and what may fail. */
export interface FakePostgres {
  /** Connects as one machine does; its statements take the time that `wire` says on their way there and back, ms. */
  connect(wire?: FakeWire): Promise<QuotaClient>;
  /** Ends every connection, and takes no other until it is started. */
  stop(): void;
  start(): void;
  /** Sets the server's clock. */
  stepClock(byMs: number): void;
  /** How often a row was written. */
  readonly writes: number;
  /** Connections that were opened. */
  readonly connects: number;
}

export interface FakeWire {
  /** Nothing arrives any more, and nobody is told. */
  isSilent?: boolean;
  readonly takeTime?: () => { readonly thereMs: number; readonly backMs: number };
  /** Called before a statement is run; what it throws is the server's answer. */
  readonly beforeRun?: (text: string) => void;
}

interface FakeRow {
  text: string;
  holder: object | undefined;
  readonly waiting: (() => void)[];
}

const LOCK_TIMEOUT_MS = 5_000;
const IDLE_TIMEOUT_MS = 4_000;

/** @param options `readTime` is the server's clock when `clock.monotonic()` shows a time, epoch ms */
export function createFakePostgres({
  clock,
  readTime,
}: {
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>;
  readonly readTime: (monotonicMs: number) => number;
}): FakePostgres {
  const rows = new Map<string, FakeRow>();
  const ends = new Set<() => void>();
  let isUp = true;
  let steppedMs = 0;
  let writes = 0;
  let connects = 0;
  const now = () => readTime(clock.monotonic()) + steppedMs;

  function open(wire: FakeWire): QuotaClient {
    const session = {};
    const over = Promise.withResolvers<never>();
    over.promise.catch(() => undefined);
    let held: FakeRow | undefined;
    let written: string | undefined;
    let idle = new AbortController();

    const release = () => {
      const row = held;
      held = undefined;
      written = undefined;
      if (row === undefined) return;
      row.holder = undefined;
      row.waiting.shift()?.();
    };
    const end = (error: Error) => {
      ends.delete(endHere);
      release();
      over.reject(error);
    };
    const endHere = () => end(new Error('Connection terminated unexpectedly'));
    ends.add(endHere);

    const startIdle = () => {
      idle = new AbortController();
      clock.sleep(IDLE_TIMEOUT_MS, idle.signal).then(
        () => end(new Error('terminating connection due to idle-in-transaction timeout')),
        () => undefined,
      );
    };

    async function lock(row: FakeRow): Promise<void> {
      const done = new AbortController();
      let isTimedOut = false;
      clock.sleep(LOCK_TIMEOUT_MS, done.signal).then(
        () => {
          isTimedOut = true;
          for (const wake of row.waiting.splice(0)) wake();
        },
        () => undefined,
      );
      while (row.holder !== undefined) {
        if (isTimedOut) throw new Error('canceling statement due to lock timeout');
        await new Promise<void>((resolve) => row.waiting.push(resolve));
      }
      done.abort();
      row.holder = session;
      held = row;
    }

    async function run(text: string, [key = '', value = '']: readonly string[]): Promise<object[]> {
      idle.abort();
      wire.beforeRun?.(text);
      const statement = text.trim();
      if (statement.startsWith('SELECT')) return [{ now: now() }];
      if (statement.startsWith('WITH')) {
        const row = rows.get(key);
        if (row === undefined) return [];
        await lock(row);
        return [{ state: row.text, now: now() }];
      }
      if (statement.startsWith('INSERT') && !rows.has(key))
        rows.set(key, { text: '', holder: undefined, waiting: [] });
      if (statement.startsWith('UPDATE')) written = value;
      if (statement === 'COMMIT' && held !== undefined && written !== undefined) {
        held.text = written;
        writes += 1;
      }
      if (statement === 'COMMIT' || statement === 'ROLLBACK') release();
      else startIdle();
      return [];
    }

    // It may change between two looks.
    const isSilent = () => wire.isSilent === true;

    async function answer(text: string, values: readonly string[]): Promise<{ readonly rows: object[] }> {
      const { thereMs, backMs } = wire.takeTime?.() ?? { thereMs: 0, backMs: 0 };
      if (thereMs > 0) await clock.sleep(thereMs);
      if (isSilent()) return over.promise;
      const found = await run(text, values);
      if (backMs > 0) await clock.sleep(backMs);
      return isSilent() ? over.promise : { rows: found };
    }

    return {
      query: (text, values = []) =>
        Promise.race([answer(text, values), over.promise]) as ReturnType<QuotaClient['query']>,
      end() {
        idle.abort();
        endHere();
        return Promise.resolve();
      },
    };
  }

  return {
    async connect(wire = {}) {
      connects += 1;
      await Promise.resolve();
      if (wire.isSilent === true) return new Promise(() => undefined);
      if (!isUp) throw new Error('connect ECONNREFUSED');
      return open(wire);
    },
    stop() {
      isUp = false;
      for (const end of ends) end();
    },
    start() {
      isUp = true;
    },
    stepClock(byMs) {
      steppedMs += byMs;
    },
    get writes() {
      return writes;
    },
    get connects() {
      return connects;
    },
  };
}
