import { existsSync } from 'node:fs';
import { workFile } from '../../state/work-file.ts';
import { StorageError } from '../model/errors.ts';
import type { PublishedFault } from '../model/reports.ts';
import { DamagedFileError } from '../warehouse/database-errors.ts';
import { checkReadable } from '../warehouse/check-readable.ts';
import { openForReading } from '../warehouse/query-published.ts';
import { RELOAD } from '../text/reload-advice.ts';

/** The fix where what is published is missing or outdated, and the work file is there. */
export const REPUBLISH_FIX = 'sluice sync publishes it; fresh streams cost no request.';
/** The fix where rows differ, and the next publish compares all of them. */
export const COMPARE_FIX =
  'sluice sync compares all rows there and repairs them; fresh streams cost no request.';
/** The fix where there is neither a state nor anything published. */
const SYNC_FIX =
  'Nothing was synced with this config yet: sluice sync does it. If something was, check stateDir and destination; with an archive in the state folder, sluice rebuild loads it without a request.';

/** The fix where nothing is published. */
export function adviseForUnpublished(wasSynced: boolean): string {
  return wasSynced ? REPUBLISH_FIX : SYNC_FIX;
}

/** A DuckDB file that readers open, and that only a publish changes. */
export interface PublishedFile {
  readonly path: string;
  readonly stateDir: string;
  /** The whole destination: what to move away where nothing can repair the file. */
  readonly whole: string;
  /** Views need the rows of other files, so that only the state is read. */
  readonly hasViews: boolean;
  /** Whether it is as it was left; a quick look, so that damage of a large file goes unnoticed. */
  isAsLeft(): Promise<boolean>;
  /** Whether the next sync replaces the file by itself: it may not notice damage, and refuses a file that is not ours. */
  willSyncReplace(): Promise<boolean>;
}

/** What changed in a published file since; empty if there is none. */
export async function findFileFaults(file: PublishedFile): Promise<readonly PublishedFault[]> {
  const { path } = file;
  if (!existsSync(path) || (await file.isAsLeft())) return [];
  const detail = `${path} is not as it was published: it is damaged, or another program has written into it`;
  return [{ path, detail, fix: await adviseOn(file) }];
}

/**
 * Reads a published file completely.
 *
 * @throws StorageError for a file that cannot be read: readers get errors, or nothing; LockedError while another program
 * has it open for writing
 */
export async function tryFile(file: PublishedFile): Promise<void> {
  const { path, hasViews } = file;
  if (!existsSync(path)) return;
  try {
    const database = await openForReading(path, []);
    await checkReadable(database, hasViews ? '_sluice' : undefined).finally(() => database.release());
  } catch (error) {
    if (!(error instanceof DamagedFileError)) throw error;
    throw new StorageError(`${path} is damaged: readers cannot read all of it`, {
      code: 'state_damaged',
      hint: await adviseOn(file),
      context: { path },
      cause: error,
    });
  }
}

/** What puts a published file that is damaged, or that was replaced, right again. */
export async function adviseOn({ path, stateDir, whole, ...file }: PublishedFile): Promise<string> {
  if (!existsSync(workFile(stateDir)))
    return `There is no state to publish it from: put a backup of ${path} in its place. Without one, move ${whole} away: ${RELOAD}`;
  const first = (await file.willSyncReplace()) ? 'Run' : `Move ${path} away and run`;
  return `${first} \`sluice sync\`: it publishes the file again from the state folder; fresh streams cost no request.`;
}
