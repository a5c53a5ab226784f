import type { CliContext, GlobalValues } from '../frame/context.ts';
import { openLog } from './open-log.ts';
import type { ProgressDisplay } from './progress-display.ts';

/** Opens the display that suits stderr, and loads only what that display needs. */
export async function openProgressDisplay(
  context: CliContext,
  globals: GlobalValues,
): Promise<ProgressDisplay> {
  const { output, clock } = context;
  const format = globals.logFormat ?? 'pretty';
  const level = globals.logLevel ?? 'info';
  const wantsQuiet = level === 'silent' || level === 'error' || level === 'warn';
  const wantsLive = format === 'pretty' && !wantsQuiet && globals.noProgress !== true;
  if (wantsLive && output.stderr.canRedraw) {
    const { createLiveDisplay } = await import('./live-display.ts');
    return createLiveDisplay(output, clock, await openLog(context, globals));
  }
  const { createLineDisplay } = await import('./line-display.ts');
  return createLineDisplay(clock, await openLog(context, globals), {
    showsPages: globals.noProgress !== true,
  });
}
