import { randomUUID } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolders } from '../../files/make-folders.ts';
import { syncFile } from '../../files/sync-to-disk.ts';
import { quoteIdentifier, quoteLiteral } from '../../warehouse/identifiers.ts';
import { generationFolder } from '../../warehouse/lake-entry.ts';
import {
  buildFolder,
  finishGeneration,
  flip,
  forEach,
  generationsFolder,
  prepareFlip,
  shareFile,
} from './folders.ts';
import type { LakeJob } from './lake-job.ts';
import type { LakeColumn } from './manifest.ts';
import type { TablePlan } from './plan-table.ts';

/** Time for readers that listed the folders before the announcement to list the files in them, ms. */
export const ANNOUNCED_MS = 1_000;

/**
 * Announces the folders that the next generation will add, each with an empty file that is deleted later. A reader
 * that listed the folders earlier would otherwise miss the rows of new ones without an error. A reader that listed an
 * empty file fails to open it and retries.
 *
 * @returns the generation that readers now see; undefined if no folder is new
 */
export async function announceFolders(
  job: LakeJob,
  plan: TablePlan,
  generation: string,
): Promise<string | undefined> {
  const { current, table, touched } = plan;
  if (current === undefined || table.partitionBy.length === 0) return undefined;
  const seen = generationFolder(job.lake, table.table, current);
  const files = await listFiles(seen);
  const folders = new Set(files.map((file) => file.split('/').slice(0, -1).join('/')));
  // If the partitioning changes, all old folders disappear and none can be read alone.
  const shape = table.partitionBy.map(({ folder }) => folder).join('/');
  if ([...folders].some((folder) => toShape(folder) !== shape)) return undefined;
  const added = touched.filter(({ folder }) => !folders.has(folder));
  if (added.length === 0 || files.length === 0) return undefined;
  await announce(job, plan, `${generation}-folders`, {
    seen,
    files,
    added: added.map(({ folder }) => folder),
  });
  return `${generation}-folders`;
}

/** What an announcing generation holds. */
interface Announcement {
  /** Folder of the generation that readers see. */
  readonly seen: string;
  /** Its files, which are shared. */
  readonly files: readonly string[];
  /** The new folders. */
  readonly added: readonly string[];
}

async function announce(
  job: LakeJob,
  plan: TablePlan,
  generation: string,
  { seen, files, added }: Announcement,
): Promise<void> {
  const { table } = plan.table;
  const folder = buildFolder(job.lake, table, generation);
  makeFolders(folder);
  await forEach(files, (file) => shareFile(join(seen, file), join(folder, file)));
  const empty = join(generationsFolder(job.lake, table), `.${generation}.empty.tmp`);
  const name = `${randomUUID()}.parquet`;
  const nothing = listSeenColumns(plan).map(
    ({ name, storedAs }) => `CAST(NULL AS ${storedAs}) AS ${quoteIdentifier(name)}`,
  );
  await job.session.all(
    `COPY (SELECT ${nothing.join(', ')} LIMIT 0) TO ${quoteLiteral(empty)} (FORMAT parquet)`,
  );
  await syncFile(empty);
  await forEach(added, (one) => shareFile(empty, join(folder, one, name)));
  await rm(empty);
  await finishGeneration(job.lake, table, generation);
  await prepareFlip(job.lake, { table, generation }, job.lease);
  await job.lease?.confirm();
  await flip(job.lake, table, job.lease);
}

/** Columns of the files that readers see, without opening a file that may be damaged. */
function listSeenColumns({ before, current, columns }: TablePlan): readonly LakeColumn[] {
  // A killed run may have left `current` ahead of the manifest: with announced folders, or with the current columns.
  const isKnown = current === before?.generation || current?.endsWith('-folders') === true;
  const seen = (isKnown ? before?.columns : undefined) ?? columns;
  return seen.filter(({ fieldId }) => fieldId !== undefined);
}

/** Parquet files below a generation, with forward slashes; empty if the folder is gone. */
async function listFiles(generation: string): Promise<readonly string[]> {
  const entries = await readdir(generation, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.parquet'))
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(generation.length + 1)
        .replaceAll('\\', '/'),
    )
    .toSorted();
}

function toShape(folder: string): string {
  return folder
    .split('/')
    .map((segment) => segment.split('=', 1)[0])
    .join('/');
}
