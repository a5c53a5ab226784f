import { join } from 'node:path';
import { readMeta } from '../../state/migrations.ts';
import { MASKED, REWRITE } from '../../state/rewrite-mark.ts';
import { workFile } from '../../state/work-file.ts';
import { assertNotAborted } from '../model/abort.ts';
import { LostLockError, toSyncError } from '../model/errors.ts';
import { publishAll, type PublishOutcome, reopen } from '../publish/publish-all.ts';
import { listPublishers } from '../publish/registry.ts';
import { prepareSecondLook } from '../storage/assert-lineage.ts';
import { CHANGE_LOG } from '../warehouse/change-log.ts';
import { removeDatabase } from '../warehouse/rewrite-file.ts';
import type { RunContext } from '../run/run-context.ts';

/**
 * Publishes what is committed to every destination that does not have it yet, and closes the work file. Safe to
 * repeat: a crash between commit and publish loses nothing. If one destination fails, the others are still published.
 * Throws for a signal and for a damaged work file.
 */
export async function publishRun(context: RunContext): Promise<PublishOutcome> {
  const { database, settings, runId, clock, signal, lost, lease, emit } = context;
  const meta = await readMeta(database);
  const generation = meta.get('generation');
  if (generation === undefined) return { published: undefined, failure: undefined };
  // The log of what clients were sent has keys as they were. A client that has it open leaves it to its next read.
  if (meta.get(REWRITE) === MASKED)
    await removeDatabase(join(settings.stateDir, CHANGE_LOG)).catch(() => undefined);
  const look = await prepareSecondLook(settings, database);
  return publishAll(listPublishers(settings), {
    generation,
    runId,
    mustForget: meta.has(REWRITE),
    database,
    file: workFile(settings.stateDir),
    look: async (place, found) => {
      assertNotAborted(lost);
      await lease?.confirm();
      await look(place, found);
    },
    lease,
    clock,
    signal,
    emit,
  });
}

/**
 * Publishes in the middle of a run, and reopens the work file. Failures are only reported: the end of the run tries
 * again. Throws if the work file cannot be reopened, and where the lock was lost.
 */
export async function publishAndGoOn(context: RunContext): Promise<void> {
  const { database, lost, emit } = context;
  try {
    const { failure } = await publishRun(context);
    if (failure !== undefined) emit({ type: 'note', message: `not published yet: ${failure.message}` });
  } catch (thrown) {
    assertNotAborted(lost);
    if (thrown instanceof LostLockError) throw thrown;
    emit({ type: 'note', message: `not published yet: ${toSyncError(thrown).message}` });
  } finally {
    await reopen(database);
  }
}
