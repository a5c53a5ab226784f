import type { HeldLease, TakenAccount } from '../database/leases.ts';
import type { Lane } from './lane.ts';

/** A run whose lease this worker has. */
export interface HeldRun {
  readonly taken: TakenAccount;
  readonly lane: Lane;
  readonly startedAtMs: number;
  /** By the clock that nobody sets: until then nobody else can have the account. */
  readonly endsAtMs: number;
  /** It was killed because its lease was lost. */
  readonly isLost: boolean;
  /** It has reported its end, which is being committed: its process is idle. */
  readonly isEnded: boolean;
}

/** The runs of a worker, by account. */
export class HeldRuns {
  readonly #runs = new Map<string, HeldRun>();

  get size(): number {
    return this.#runs.size;
  }

  list(): readonly HeldRun[] {
    return [...this.#runs.values()];
  }

  /** The run with this token, if it is still there: the account may be at work again with a higher one. */
  get(account: string, token: number): HeldRun | undefined {
    const run = this.#runs.get(account);
    return run?.taken.token === token ? run : undefined;
  }

  add(run: HeldRun): void {
    this.#runs.set(run.taken.account, run);
  }

  change({ account, token }: HeldLease, change: Partial<HeldRun>): void {
    const run = this.get(account, token);
    if (run !== undefined) this.#runs.set(account, { ...run, ...change });
  }

  remove({ account, token }: HeldLease): void {
    if (this.get(account, token) !== undefined) this.#runs.delete(account);
  }
}
