import type { AccountSource } from '../../model/account.ts';
import type { ReportedError, RunReport } from '../../model/run-report.ts';
import type { QuotaMark } from '../quota/travelling-ledger.ts';
import type { StoredSource } from '../database/leases.ts';

/** A run of an account, as a worker gives it to one of its lanes. */
export interface LaneRun {
  readonly account: string;
  readonly token: number;
  readonly isTakeover: boolean;
  /** Name of its state folder in the store. */
  readonly object: string | undefined;
  /** Names of the pages that were put away since, in their order. */
  readonly stages: readonly string[];
  /** What runs noted last of the quota of its key, by the database's clock. */
  readonly quotas: readonly QuotaMark[];
  /** Others of the config have its key: they share its quota. */
  readonly sharesKey: boolean;
  /** A key that returns other data than the tables have is taken for a new one of the same account. */
  readonly acceptsNewKey: boolean;
  /** It, and the other accounts with its key. */
  readonly alike: readonly AccountSource[];
}

/** What a run of a lane came to. */
export interface LaneEnd {
  readonly exitCode: number;
  readonly report: RunReport | undefined;
  readonly error: ReportedError | undefined;
  readonly resumeInMs: number | undefined;
  readonly object: { readonly name: string; readonly bytes: number } | undefined;
  readonly source: StoredSource | undefined;
  /** Lines for the log. */
  readonly warnings: readonly string[];
}

/** What a worker says to a lane, a process of its own. */
export type ToLane =
  | { readonly type: 'run'; readonly run: LaneRun }
  /** The worker is stopping: keep whole pages, and end. */
  | { readonly type: 'stop' }
  /** The lease was renewed just now. */
  | { readonly type: 'held' }
  /** The answer to a question. */
  | { readonly type: 'answer'; readonly id: number; readonly isHeld: boolean }
  /** Whether the end of the run was committed. */
  | { readonly type: 'settled'; readonly isAccepted: boolean };

/** What a lane asks its worker; the answer is whether the lease is still held. */
export type LaneQuestion =
  | { readonly kind: 'held' }
  /** Records objects with pages that were put away. */
  | { readonly kind: 'stages'; readonly stages: readonly string[] }
  /** Records what is left of the quota, by the database's clock. */
  | { readonly kind: 'quota'; readonly mark: QuotaMark }
  /** Records that every destination refuses what comes from earlier holders. */
  | { readonly kind: 'settled' };

/** What a lane says to its worker. */
export type FromLane =
  /** Answers each `held`: it does not hang. */
  | { readonly type: 'alive' }
  | { readonly type: 'ask'; readonly id: number; readonly question: LaneQuestion }
  | { readonly type: 'ended'; readonly end: LaneEnd }
  /** What was left over is removed: it can take the next run. */
  | { readonly type: 'idle' };
