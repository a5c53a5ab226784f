import { createHash } from 'node:crypto';
import { constants, existsSync } from 'node:fs';
import { copyFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { LostLockError, PublishError } from '../../model/errors.ts';
import { makeFolders } from '../../files/make-folders.ts';
import { addViewsToFile } from '../../views/add-views.ts';
import { type FileMark, fingerprintFile } from '../../warehouse/fingerprint-file.ts';
import { markHolder } from '../holder-mark.ts';
import type { ClosedCommit } from '../publisher.ts';
import { type PlacedFile, putInPlace, removeLeftovers, temporaryFor } from '../put-in-place.ts';

/**
 * Copies the committed work file to `target` atomically (invariant 4): writes a temporary copy next to it, adds the views
 * of its tables, flushes it and renames it. Readers keep the file they have open; new readers get this one.
 *
 * The work file must be closed and checkpointed. `lookAgain` throws if the file at `target` must not be replaced by
 * then.
 */
export async function replaceFile(
  workFile: string,
  target: string,
  { runId, lease, warn }: Pick<ClosedCommit, 'lease' | 'runId' | 'warn'>,
  lookAgain: () => Promise<void>,
): Promise<PlacedFile & FileMark> {
  // A run id may be any text, e.g. a scheduler's: only its hash is sure to be a file name. Two holders of a lease may
  // have the same one.
  const mark = markHolder(lease) ?? createHash('sha256').update(runId).digest('hex').slice(0, 12);
  const temporary = temporaryFor(target, mark);
  try {
    makeFolders(dirname(target));
    await removeLeftovers(target, lease);
    // Shares the blocks if the file system supports it, else copies them.
    await copyFile(workFile, temporary, constants.COPYFILE_FICLONE);
    await addViewsToFile(temporary, { warn });
    // Of what is published: another program may have modified the file by the time it is in its place.
    const fingerprint = await fingerprintFile(temporary);
    return { ...(await putInPlace(temporary, target, lookAgain)), fingerprint };
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    if (error instanceof PublishError || error instanceof LostLockError) throw error;
    throw new PublishError(`cannot publish ${target}: ${(error as Error).message}`, {
      code: 'publish_failed',
      hint: `Everything synced is committed in the state folder${existsSync(target) ? ', and the published file is unchanged' : '; nothing is published there yet'}. Fix the cause and run again: publishing needs no request.`,
      context: { path: target },
      cause: error,
    });
  }
}
