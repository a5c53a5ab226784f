import type { AccountEvent } from '../../model/accounts-report.ts';
import type { ProgressEvent } from '../../model/progress.ts';
import { createProgressState, type ProgressState } from './progress-state.ts';
import { reduceProgress } from './reduce-progress.ts';

/** How far one account is. */
export type AccountProgress =
  | { readonly state: 'queued' }
  | { readonly state: 'working'; readonly run: ProgressState }
  | { readonly state: 'waiting'; readonly untilMs: number }
  | { readonly state: 'done' }
  /** Its progress is saved; it goes on when it is run again. */
  | { readonly state: 'stopped' }
  | { readonly state: 'failed'; readonly message: string };

/** Everything needed to draw a sync of several accounts, in the order of the config. */
export type AccountsState = ReadonlyMap<string, AccountProgress>;

/** How far an account is after something happened to it. */
export function placeAccount(event: AccountEvent, nowMs: number): AccountProgress {
  switch (event.type) {
    case 'account-started':
      return { state: 'working', run: createProgressState(nowMs) };
    case 'account-waiting':
      return { state: 'waiting', untilMs: event.untilMs };
    case 'account-ended': {
      const { exitCode, error } = event.end;
      if (exitCode === 0) return { state: 'done' };
      if (exitCode === 75 || exitCode === 130 || exitCode === 143) return { state: 'stopped' };
      return { state: 'failed', message: error?.message ?? `exit code ${exitCode}` };
    }
  }
}

/** How far an account is after an event of its run. */
export function followAccount(
  known: AccountProgress | undefined,
  event: ProgressEvent,
  nowMs: number,
): AccountProgress {
  if (known?.state !== 'working') return known ?? { state: 'queued' };
  return { state: 'working', run: reduceProgress(known.run, event, nowMs) };
}
