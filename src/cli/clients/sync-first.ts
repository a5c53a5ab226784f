import type { EndedRun } from '../../model/run-observer.ts';
import { tellEnd } from '../../model/run-observer.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import { recordRefusals, sendNotices } from '../steps/follow-run.ts';
import { syncOnce } from '../steps/sync-once.ts';
import type { OpenConnection } from './open-connection.ts';

/** Runs the sync of these streams, as `sluice sync` does, with its notices. What fails in it is returned. */
export async function syncFirst(
  context: CliContext,
  globals: GlobalValues,
  { settings, sync }: OpenConnection,
  streams: readonly string[],
): Promise<EndedRun & { readonly warnings: readonly string[] }> {
  const ended = await syncOnce(context, globals, settings, { ...sync, streams });
  const place = { stateDir: settings.stateDir, guessed: false };
  const told = await tellEnd([recordRefusals(context, place), sendNotices(context, settings)], ended);
  return { ...ended, warnings: [...(ended.report?.warnings ?? []), ...told] };
}
