import type { Clock } from '../../model/clock.ts';
import type { OnProgress } from '../../model/progress.ts';
import type { ReportedError } from '../../model/run-report.ts';
import type { AccountsDisplay } from './accounts-display.ts';
import { calmPause, describeAccountEvent, isPause, nameLine, shortenEnd } from './describe-account-event.ts';
import { createLineDisplay } from './line-display.ts';
import type { LogWriter } from './log-writer.ts';

/** Shows the accounts of a sync as plain log lines, each with the name of its account. */
export function createAccountsLines(
  clock: Clock,
  log: LogWriter,
  options: { readonly showsPages: boolean },
): AccountsDisplay {
  const displays = new Map<string, OnProgress>();
  /** Failures of streams that were logged: they are often why the account failed, too. */
  const told = new Set<string>();
  return {
    onAccount(event) {
      // Its waits and pages belong to one run, and the next one counts again.
      if (event.type === 'account-started') displays.delete(event.account);
      const line = describeAccountEvent(event, clock.now());
      if (line === undefined) return;
      const cause =
        event.type === 'account-ended' ? nameCause(event.end.account, event.end.error) : undefined;
      log(cause !== undefined && told.has(cause) ? shortenEnd(line) : line);
    },
    follow(account) {
      const known = displays.get(account);
      if (known !== undefined) return known;
      const display = createLineDisplay(clock, (line) => log(nameLine(account, calmPause(line))), options);
      const onProgress: OnProgress = (event) => {
        if (event.type === 'stream-finished' && !isPause(event.report.error)) {
          const cause = nameCause(account, event.report.error);
          if (cause !== undefined) told.add(cause);
        }
        display.onProgress(event);
      };
      displays.set(account, onProgress);
      return onProgress;
    },
    close() {},
  };
}

/** One cause in one account: a stream's line has the stream's name in front of it, and an account's has not. */
function nameCause(account: string, error: ReportedError | undefined): string | undefined {
  return error && `${account}\n${error.message}`;
}
