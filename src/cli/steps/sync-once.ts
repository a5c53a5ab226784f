import { toSyncError } from '../../model/errors.ts';
import type { EndedRun, RunObserver } from '../../model/run-observer.ts';
import type { Settings, SyncOptions } from '../../model/settings.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import { openProgressDisplay } from '../progress/open-display.ts';

/** How one run is made. */
interface OnceOptions extends SyncOptions {
  /** See each event before it is shown. */
  readonly observers?: readonly RunObserver[];
}

/** Runs once and shows its progress. What keeps the run from starting is returned, not thrown. */
export async function syncOnce(
  context: CliContext,
  globals: GlobalValues,
  settings: Settings,
  options: OnceOptions,
): Promise<EndedRun> {
  const { clock, engine, signal } = context;
  const startedAtMs = clock.now();
  const display = await openProgressDisplay(context, globals);
  context.chooseStop('keep-pages');
  try {
    const shown: RunObserver = { name: 'the display', onEvent: display.onProgress };
    const observers = [...(options.observers ?? []), shown];
    return { startedAtMs, report: await engine.runSync(settings, { ...options, signal, observers }) };
  } catch (thrown) {
    return { startedAtMs, error: toSyncError(thrown) };
  } finally {
    context.chooseStop('close');
    display.close();
  }
}
