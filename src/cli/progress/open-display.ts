import type { CliContext, GlobalValues } from '../frame/context.ts';
import type { AccountsDisplay } from './accounts-display.ts';
import { openLog } from './open-log.ts';
import type { ProgressDisplay } from './progress-display.ts';

/** Opens the display that suits stderr, and loads only what that display needs. */
export async function openProgressDisplay(
  context: CliContext,
  globals: GlobalValues,
): Promise<ProgressDisplay> {
  const { output, clock } = context;
  if (isLive(context, globals)) {
    const { createLiveDisplay } = await import('./live-display.ts');
    return createLiveDisplay(output, clock, await openLog(context, globals));
  }
  const { createLineDisplay } = await import('./line-display.ts');
  const showsPages = globals.noProgress !== true;
  return createLineDisplay(clock, await openLog(context, globals), { showsPages });
}

/** The same for a sync of several accounts. */
export async function openAccountsDisplay(
  context: CliContext,
  globals: GlobalValues,
  names: readonly string[],
): Promise<AccountsDisplay> {
  const { output, clock } = context;
  const log = await openLog(context, globals);
  if (isLive(context, globals)) {
    const { createLiveAccounts } = await import('./live-display.ts');
    return createLiveAccounts(output, clock, { log, names });
  }
  const { createAccountsLines } = await import('./accounts-lines.ts');
  return createAccountsLines(clock, log, { showsPages: globals.noProgress !== true });
}

function isLive({ output }: CliContext, globals: GlobalValues): boolean {
  const { logFormat = 'pretty', logLevel = 'info', noProgress } = globals;
  const wantsQuiet = logLevel === 'silent' || logLevel === 'error' || logLevel === 'warn';
  return output.stderr.canRedraw && logFormat === 'pretty' && !wantsQuiet && noProgress !== true;
}
