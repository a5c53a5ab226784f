import type { Clock } from '../../model/clock.ts';
import type { OnProgress } from '../../model/progress.ts';
import type { AccountsDisplay } from './accounts-display.ts';
import { calmPause, describeAccountEvent, nameLine, shortenEnd } from './describe-account-event.ts';
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
      if (line !== undefined) log(told.has(line.message) ? shortenEnd(line) : line);
    },
    follow(account) {
      const known = displays.get(account);
      if (known !== undefined) return known;
      const { onProgress } = createLineDisplay(
        clock,
        (line) => {
          const named = nameLine(account, calmPause(line));
          if (named.level === 'error') told.add(named.message);
          log(named);
        },
        options,
      );
      displays.set(account, onProgress);
      return onProgress;
    },
    close() {},
  };
}
