import { joinQuotaStates } from '../../http/quota-join.ts';
import { followStepBack, moveTimes } from '../../http/quota-tidy.ts';
import type { Clock } from '../../model/clock.ts';
import {
  initialQuotaState,
  parseQuotaState,
  type QuotaChange,
  type QuotaState,
  type QuotaStore,
} from '../../model/quota.ts';
import { type OpenConnection, QuotaConnection } from './quota-connection.ts';
import type { ServerClock } from './server-clock.ts';
import { leaveRow, lockRow, type LockedRow, type QuotaClient, writeRow } from './quota-table.ts';

export interface PostgresQuotaOptions {
  /** Opens a connection; called at the first update, and again some time after a connection was lost. */
  readonly connect: () => Promise<QuotaClient>;
  /** Names the row, as `hashKey` makes it. */
  readonly keyHash: string;
  /** The clock of those who change the state: times are moved to its wall time for them. */
  readonly clock: Clock;
}

/** How times of the server become times of this machine, for one change. */
interface Move {
  /** What this machine's wall clock is ahead of the server's, whole ms. */
  readonly byMs: number;
  /** How far this machine's wall clock was set since the first change, ms. */
  readonly movedMs: number;
}

/** Why this process goes on alone. */
interface Parted {
  readonly cause: string;
  /** Reservations of the last change, which may have reached the server without its word for it. */
  readonly reserved: ReadonlySet<string>;
}

/**
 * The quota of one key, shared with every machine that uses the same database. The row keeps all times by the server's
 * clock; a change gets them, and leaves them, by this machine's. A clock of a machine that is set moves nothing in the row.
 *
 * While the server fails, the state continues in this process only, with a `warning`. When the server is back, the two
 * states are joined by the stricter of both.
 */
export class PostgresQuotaStore implements QuotaStore {
  warning: string | undefined;
  readonly #keyHash: string;
  readonly #clock: Clock;
  readonly #connection: QuotaConnection;
  /** The state as it was changed last, by this machine's clock. */
  #own = initialQuotaState();
  /** The state as the server had it last for certain, by its clock. */
  #base = initialQuotaState();
  /** Set while this process goes on alone. */
  #parted: Parted | undefined;
  #firstOffsetMs: number | undefined;
  #made: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(options: PostgresQuotaOptions) {
    this.#keyHash = options.keyHash;
    this.#clock = options.clock;
    this.#connection = new QuotaConnection(options, (error) => {
      this.#part(error);
    });
  }

  /** Changes of one store share its connection, so they are made one after the other. */
  update<T>(change: QuotaChange<T>): Promise<T> {
    return this.#inOrder(async () => {
      this.#firstOffsetMs ??= this.#readOffset();
      const open = this.#isClosed ? undefined : await this.#connection.reach();
      return open === undefined ? this.#changeOwn(change) : this.#changeShared(open, change);
    });
  }

  close(): Promise<void> {
    return this.#inOrder(() => {
      this.#isClosed = true;
      return this.#connection.close();
    });
  }

  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#made.then(work);
    this.#made = done.catch(() => undefined);
    return done;
  }

  #changeOwn<T>(change: QuotaChange<T>): T {
    const { state, result } = change(this.#own);
    this.#own = state;
    return result;
  }

  async #changeShared<T>({ client, serverClock }: OpenConnection, change: QuotaChange<T>): Promise<T> {
    let row: LockedRow;
    try {
      const locking = lockRow(client, this.#keyHash, () => this.#clock.monotonic());
      row = await this.#connection.within(locking);
    } catch (error) {
      this.#lose(error);
      return this.#changeOwn(change);
    }
    const { shared, move } = this.#read(row, serverClock);
    const before = toMachine(this.#join(shared, move), move);
    const changed = await this.#changeOrLeave(client, () => change(before));
    this.#own = changed.state;
    try {
      if (changed.state === before && this.#parted === undefined) {
        await this.#connection.within(leaveRow(client));
        this.#base = shared;
      } else {
        // What the change moved because of this machine's clock is not for the others.
        const state = toServer(changed.state, move.byMs + changed.state.movedMs - before.movedMs);
        await this.#connection.within(writeRow(client, this.#keyHash, JSON.stringify(state)));
        this.#base = state;
      }
      this.#meet();
    } catch (error) {
      this.#base = shared;
      this.#lose(error, changed.state);
    }
    return changed.result;
  }

  /** The state of a row, by the server's clock, and how to move it. */
  #read(row: LockedRow, serverClock: ServerClock): { readonly shared: QuotaState; readonly move: Move } {
    const answeredMs = this.#clock.monotonic();
    serverClock.learn({ ...row, answeredMs });
    const serverMs = serverClock.read(answeredMs);
    const move = {
      byMs: Math.round(this.#clock.now() - serverMs),
      movedMs: this.#readOffset() - (this.#firstOffsetMs ?? 0),
    };
    const state = parseQuotaState(row.text);
    if (state === undefined && row.text !== '')
      this.warning = 'the quota of this key in Postgres held no valid state and was reset';
    return { shared: followStepBack(state ?? initialQuotaState(), Math.round(serverMs)), move };
  }

  #join(shared: QuotaState, { byMs, movedMs }: Move): QuotaState {
    if (this.#parted === undefined) return shared;
    // The clock may have been set since the last change.
    const own = toServer(this.#own, byMs - (movedMs - this.#own.movedMs));
    return joinQuotaStates({ shared, own, base: this.#base, reserved: this.#parted.reserved });
  }

  async #changeOrLeave<T>(client: QuotaClient, change: () => T): Promise<T> {
    try {
      return change();
    } catch (error) {
      await this.#connection.within(leaveRow(client)).catch((lost: unknown) => {
        this.#lose(lost);
      });
      throw error;
    }
  }

  #readOffset(): number {
    return Math.round(this.#clock.now() - this.#clock.monotonic());
  }

  #lose(error: unknown, left?: QuotaState): void {
    this.#connection.drop();
    this.#part(error, left);
  }

  #part(error: unknown, left?: QuotaState): void {
    if (this.#isClosed) return;
    const cause = error instanceof Error ? error.message : String(error);
    const ids = left?.inFlight.map(({ id }) => id) ?? this.#parted?.reserved;
    this.#parted = { cause, reserved: new Set(ids) };
    this.warning = `the quota in Postgres cannot be used (${cause}): other processes with this key are not seen, and only the server's headers limit them together`;
  }

  #meet(): void {
    if (this.#parted === undefined) return;
    this.warning = `the quota in Postgres could not be used for a time (${this.#parted.cause}): other processes with this key were not seen then`;
    this.#parted = undefined;
  }
}

/** Moves a state of the server to this machine's clock, whose steps SharedQuotaState compares with `movedMs`. */
function toMachine(state: QuotaState, { byMs, movedMs }: Move): QuotaState {
  return { ...moveTimes(state, byMs), movedMs };
}

/** Leaves out what tells of steps of a machine's clock: they move nothing in the row. */
function toServer(state: QuotaState, byMs: number): QuotaState {
  const moved = moveTimes(state, -byMs);
  return { ...moved, movedMs: 0, inFlight: moved.inFlight.map(({ id, sentAtMs }) => ({ id, sentAtMs })) };
}
