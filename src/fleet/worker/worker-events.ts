import type { SyncError } from '../../model/errors.ts';
import type { ConfigSources } from '../database/alike-accounts.ts';
import type { RunEnd } from '../database/end-run.ts';

/** What a worker reports, for its log. */
export type WorkerEvent =
  | {
      readonly type: 'run-started';
      readonly account: string;
      readonly token: number;
      readonly isTakeover: boolean;
    }
  | {
      readonly type: 'run-ended';
      readonly account: string;
      readonly token: number;
      readonly end: RunEnd;
      readonly nextInMs: number | undefined;
      readonly isAccepted: boolean;
      readonly tookMs: number;
    }
  | { readonly type: 'run-lost'; readonly account: string; readonly token: number }
  /** The worker was told to stop, with so many runs at work. */
  | { readonly type: 'draining'; readonly runs: number }
  | { readonly type: 'warning'; readonly account?: string; readonly message: string }
  | { readonly type: 'database-away'; readonly error: SyncError }
  | { readonly type: 'database-back' };

/** The accounts that a worker serves. */
export interface ServedAccounts {
  readonly names: readonly string[];
  readonly sources: ConfigSources;
}
