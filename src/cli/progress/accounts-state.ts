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

/** The state before the first event. */
export function createAccountsState(names: readonly string[]): AccountsState {
  return new Map(names.map((name) => [name, { state: 'queued' }]));
}

/** The state after something happened to an account. */
export function reduceAccounts(state: AccountsState, event: AccountEvent, nowMs: number): AccountsState {
  switch (event.type) {
    case 'account-started':
      return set(state, event.account, { state: 'working', run: createProgressState(nowMs) });
    case 'account-waiting':
      return set(state, event.account, { state: 'waiting', untilMs: event.untilMs });
    case 'account-ended': {
      const { account, exitCode, error } = event.end;
      if (exitCode === 0) return set(state, account, { state: 'done' });
      if (exitCode === 75) return set(state, account, { state: 'stopped' });
      return set(state, account, { state: 'failed', message: error?.message ?? `exit code ${exitCode}` });
    }
  }
}

/** The state after an event of one account's run. */
export function reduceAccount(
  state: AccountsState,
  account: string,
  event: ProgressEvent,
  nowMs: number,
): AccountsState {
  const known = state.get(account);
  if (known?.state !== 'working') return state;
  return set(state, account, { state: 'working', run: reduceProgress(known.run, event, nowMs) });
}

function set(state: AccountsState, account: string, progress: AccountProgress): AccountsState {
  return new Map([...state, [account, progress]]);
}
