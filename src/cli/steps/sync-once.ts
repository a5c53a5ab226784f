import { type SyncError, toSyncError } from '../../model/errors.ts';
import type { OnProgress, ProgressEvent } from '../../model/progress.ts';
import type { RunReport } from '../../model/run-report.ts';
import type { Settings, SyncOptions } from '../../model/settings.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import { openProgressDisplay } from '../progress/open-display.ts';

/** A run that ended with a report, or that could not start. */
export type EndedSync = { readonly startedAtMs: number } & (
  | { readonly report: RunReport; readonly error?: undefined }
  | { readonly report?: undefined; readonly error: SyncError }
);

/** How one run is made. */
interface OnceOptions extends SyncOptions {
  /** Called with each event before it is shown. */
  readonly onProgress?: OnProgress;
}

/** Runs once and shows its progress. What keeps the run from starting is returned, not thrown. */
export async function syncOnce(
  context: CliContext,
  globals: GlobalValues,
  settings: Settings,
  options: OnceOptions,
): Promise<EndedSync> {
  const { clock, engine, signal } = context;
  const startedAtMs = clock.now();
  const display = await openProgressDisplay(context, globals);
  try {
    const onProgress = (event: ProgressEvent) => {
      options.onProgress?.(event);
      display.onProgress(event);
    };
    return { startedAtMs, report: await engine.runSync(settings, { ...options, signal, onProgress }) };
  } catch (thrown) {
    return { startedAtMs, error: toSyncError(thrown) };
  } finally {
    display.close();
  }
}
