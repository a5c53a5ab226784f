import type { AccountEvent } from '../../model/accounts-report.ts';
import type { OnProgress } from '../../model/progress.ts';

/** Shows a sync of several accounts, until it is closed. */
export interface AccountsDisplay {
  readonly onAccount: (event: AccountEvent) => void;
  /** Takes the progress of one account's run. */
  readonly follow: (account: string) => OnProgress;
  /** Stops drawing and leaves the last picture on the screen. Closing again does nothing. */
  close(): void;
}
