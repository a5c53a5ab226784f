import type { Clock } from '../../model/clock.ts';
import { type QuotaClient, readServerTime } from './quota-table.ts';
import { type ClockReading, ServerClock } from './server-clock.ts';

/** A server that was not reached is asked again after this, ms: nobody waits for the attempt. */
export const RETRY_AFTER_MS = 5_000;

/** Longest that one step may take, ms; longer than the server lets anybody wait for a row. */
export const STEP_DEADLINE_MS = 8_000;

// The first answers of a connection are slow; one of so few is as short as most are.
const CLOCK_READINGS = 3;

/** A connection whose server's clock is known. */
export interface OpenConnection {
  readonly client: QuotaClient;
  readonly serverClock: ServerClock;
}

/** One connection, opened when it is needed first, and again some time after it was lost. */
export class QuotaConnection {
  readonly #connect: () => Promise<QuotaClient>;
  readonly #clock: Clock;
  readonly #onFailed: (error: unknown) => void;
  #open: OpenConnection | undefined;
  #attempt: Promise<void> | undefined;
  /** On `clock.monotonic()`; undefined before the first attempt. */
  #retryAtMs: number | undefined;
  #isClosed = false;

  /** @param onFailed is told why an attempt to connect failed */
  constructor(
    { connect, clock }: { readonly connect: () => Promise<QuotaClient>; readonly clock: Clock },
    onFailed: (error: unknown) => void,
  ) {
    this.#connect = connect;
    this.#clock = clock;
    this.#onFailed = onFailed;
  }

  /** The connection; undefined while there is none. Waits for the first attempt, and for no other. */
  async reach(): Promise<OpenConnection | undefined> {
    if (this.#retryAtMs === undefined) {
      this.#retryAtMs = -Infinity;
      await this.#try();
    } else if (
      this.#open === undefined &&
      this.#attempt === undefined &&
      this.#clock.monotonic() >= this.#retryAtMs
    ) {
      this.#attempt = this.#try().finally(() => (this.#attempt = undefined));
    }
    return this.#open;
  }

  /** Gives the connection up: it failed, or nobody knows in what state it is. */
  drop(): void {
    const lost = this.#open;
    this.#open = undefined;
    this.#retryAtMs = this.#clock.monotonic() + RETRY_AFTER_MS;
    if (lost !== undefined) endQuietly(lost.client);
  }

  /** Runs one step of the server; rejects when it fails, or takes too long. */
  within<T>(step: Promise<T>): Promise<T> {
    return within(this.#clock, step);
  }

  /** May be called more than once. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const open = this.#open;
    this.#open = undefined;
    if (open !== undefined) await this.within(open.client.end()).catch(() => undefined);
  }

  async #try(): Promise<void> {
    const connecting = Promise.resolve().then(this.#connect);
    try {
      const client = await this.within(connecting);
      const serverClock = new ServerClock(await this.within(this.#readClock(client)));
      this.#open = { client, serverClock };
      if (this.#isClosed) await this.close();
    } catch (error) {
      // It may still be opened, too late.
      connecting.then(endQuietly, () => undefined);
      this.drop();
      this.#onFailed(error);
    }
  }

  async #readClock(client: QuotaClient): Promise<readonly ClockReading[]> {
    const readings: ClockReading[] = [];
    while (readings.length < CLOCK_READINGS) {
      const askedMs = this.#clock.monotonic();
      const serverMs = await readServerTime(client);
      readings.push({ askedMs, serverMs, answeredMs: this.#clock.monotonic() });
    }
    return readings;
  }
}

function endQuietly(client: QuotaClient): void {
  client.end().catch(() => undefined);
}

async function within<T>(clock: Clock, step: Promise<T>): Promise<T> {
  const done = new AbortController();
  const late = clock.sleep(STEP_DEADLINE_MS, done.signal).then(() => {
    throw new Error(`no answer within ${STEP_DEADLINE_MS / 1000} seconds`);
  });
  // The one that ends second has nobody who waits for it.
  for (const one of [step, late]) one.catch(() => undefined);
  try {
    return await Promise.race([step, late]);
  } finally {
    done.abort();
  }
}
