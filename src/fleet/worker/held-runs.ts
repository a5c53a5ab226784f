import type { TakenAccount } from '../database/leases.ts';
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

  get(account: string): HeldRun | undefined {
    return this.#runs.get(account);
  }

  add(run: HeldRun): void {
    this.#runs.set(run.taken.account, run);
  }

  change(account: string, change: Partial<HeldRun>): void {
    const run = this.#runs.get(account);
    if (run !== undefined) this.#runs.set(account, { ...run, ...change });
  }

  remove(account: string): void {
    this.#runs.delete(account);
  }
}
