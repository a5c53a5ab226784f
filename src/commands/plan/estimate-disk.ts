import { existsSync } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { listArchive } from '../../archive/archive-folder.ts';
import { StorageError } from '../../model/errors.ts';
import type { DiskNeed, PlannedStream, PlanReport } from '../../model/plan-report.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import { sliceIdOf, sliceStream } from '../../model/stream.ts';
import { listPublishers } from '../../publish/registry.ts';
import { NOT_FIRST } from '../../warehouse/first-table.ts';
import { withHeld } from '../../storage/with-held.ts';
import { archiveFolder } from '../../storage/state-folder.ts';
import { formatBytes } from '../../text/format-bytes.ts';
import { workFile } from '../../../state/work-file.ts';

// Assumed sizes of a record: its text, its compressed text, and its row.
const RECORD_BYTES = 500;
const PACKED_SHARE = 0.15;
const ROW_BYTES = 150;
/** Size of an almost empty database file. */
const EMPTY_FILE_BYTES = 3 * 2 ** 20;

/** A file system, and its free space. */
export interface DiskSpace {
  readonly device: number;
  readonly freeBytes: number;
}

/** Looks at the file system of a folder. */
export type ReadDisk = (folder: string) => Promise<DiskSpace>;

/** What one record takes: staged as text, archived, and as a row. */
interface Sizes {
  readonly staged: number;
  readonly packed: number;
  readonly row: number;
}

/**
 * Disk space the next sync needs, estimated from earlier ones: the pages and rows of its largest stream, the archive,
 * the growth of the work file, the published copy next to the one that it replaces, and the lake's new files next to
 * the old ones. One entry per file system; undefined while the size of a stream is unknown.
 */
export async function estimateDisk(
  settings: OfflineSettings,
  plan: Pick<PlanReport, 'streams'>,
): Promise<readonly DiskNeed[] | undefined> {
  const streams = plan.streams.filter(({ action }) => action !== 'unavailable' && action !== 'failed');
  if (streams.some(({ rows }) => rows === undefined)) return undefined;
  const held = await measureTables(settings);
  let largestStage = 0;
  let archived = 0;
  let grown = 0;
  for (const planned of streams) {
    const rows = planned.rows ?? 0;
    const { staged, packed, row } = await measureRecords(settings, planned, held);
    // The records as received, and again as the engine reads them.
    largestStage = Math.max(largestStage, rows * staged * 2);
    archived += settings.retention.archiveMs === 0 ? 0 : rows * packed;
    // Rows that are replaced need new blocks before the old ones are free.
    grown += rows * row;
  }
  const read = streams.reduce((sum, { rows = 0 }) => sum + rows, 0);
  if (read === 0 && !(await isPublishDue(settings))) return addUp(listPlaces(settings, 0, 0));
  const published = Math.max(held.fileBytes + grown, EMPTY_FILE_BYTES);
  const restored = existsSync(workFile(settings.stateDir)) ? 0 : held.fileBytes;
  const state = read === 0 ? 0 : largestStage + archived + Math.max(grown, EMPTY_FILE_BYTES);
  return addUp(listPlaces(settings, restored + state, published));
}

/**
 * Free space where a sync writes. Throws a StorageError if not even the published copy would fit next to the file
 * that it replaces: the sync would spend its requests and then fail.
 */
export async function checkDisk(settings: OfflineSettings, readDisk?: ReadDisk): Promise<string> {
  const needs = await measureLeastDisk(settings, readDisk);
  const short = needs.filter(({ fits }) => !fits);
  if (short.length > 0) {
    const places = short.map(
      ({ path, neededBytes, freeBytes }) =>
        `${path} has ${formatBytes(freeBytes)} free, and a sync needs at least ${formatBytes(neededBytes)} there`,
    );
    throw new StorageError(`the disk is too small: ${places.join('; ')}`, {
      code: 'storage_failed',
      hint: 'Free some disk space, or set another stateDir or destination. What is published stays unchanged; `sluice plan` estimates the whole sync.',
    });
  }
  return needs.map(({ path, freeBytes }) => `${formatBytes(freeBytes)} free in ${path}`).join(', ');
}

/**
 * The minimum that a sync with new data needs: the restored state if it is missing, and the published copy next to
 * the one that it replaces. One entry per file system.
 */
async function measureLeastDisk(
  settings: OfflineSettings,
  readDisk?: ReadDisk,
): Promise<readonly DiskNeed[]> {
  const fileBytes = await measureFiles(settings);
  const copy = Math.max(fileBytes, EMPTY_FILE_BYTES);
  const restored = existsSync(workFile(settings.stateDir)) ? 0 : copy;
  return addUp(listPlaces(settings, Math.max(restored, EMPTY_FILE_BYTES), copy), readDisk);
}

/** Where a sync writes, and how much of it. */
function listPlaces(
  settings: OfflineSettings,
  state: number,
  published: number,
): readonly { readonly path: string; readonly neededBytes: number }[] {
  return [
    { path: settings.stateDir, neededBytes: Math.ceil(state) },
    // In the worst case everything changes, and what was there before is kept for a while.
    ...listPublishers(settings)
      .flatMap(({ local }) => local?.folder ?? [])
      .map((path) => ({ path, neededBytes: Math.ceil(published) })),
  ];
}

/** Whether a commit waits to be published, although nothing is left to read. */
async function isPublishDue(settings: OfflineSettings): Promise<boolean> {
  if (!existsSync(workFile(settings.stateDir))) return false;
  for (const publisher of listPublishers(settings)) {
    const published = await publisher.inspect();
    if (published === undefined || published.isLeft === false) return true;
  }
  return false;
}

// The whole file is replaced, with a copy next to it.
async function measureFiles({ stateDir, readersFile }: OfflineSettings): Promise<number> {
  const bytes = async (name: string) => (existsSync(name) ? (await stat(name)).size : 0);
  return Math.max(await bytes(workFile(stateDir)), await bytes(readersFile));
}

async function measureTables(
  settings: OfflineSettings,
): Promise<{ readonly fileBytes: number; readonly rows: number }> {
  const rows = await withHeld(settings, (database) =>
    database.count(
      `SELECT coalesce(sum(estimated_size), 0) FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = 'main'
         AND ${NOT_FIRST}`,
    ),
  );
  return { fileBytes: await measureFiles(settings), rows: rows ?? 0 };
}

/** What the records of a stream took the last time they were archived. */
async function measureRecords(
  settings: OfflineSettings,
  { stream: name, slice }: PlannedStream,
  held: { readonly fileBytes: number; readonly rows: number },
): Promise<Sizes> {
  const stream = settings.streams
    .filter((one) => one.name === name)
    .flatMap(sliceStream)
    .find((one) => sliceIdOf(one) === slice);
  const { scans } =
    stream === undefined
      ? { scans: [] }
      : await listArchive(archiveFolder(settings.stateDir, stream), undefined);
  const last = scans.findLast(({ rows }) => rows > 0);
  const staged = last === undefined ? RECORD_BYTES : last.content.bytes / last.rows;
  const packed = last === undefined ? staged * PACKED_SHARE : last.content.packedBytes / last.rows;
  // A file with few rows is mostly overhead, and a row is never larger than its text.
  const row = held.rows === 0 ? ROW_BYTES : held.fileBytes / held.rows;
  return { staged, packed, row: Math.min(row, staged) };
}

/** Adds up what is on one file system, and its free space. */
async function addUp(
  parts: readonly { readonly path: string; readonly neededBytes: number }[],
  read: ReadDisk = readDisk,
): Promise<readonly DiskNeed[]> {
  const byDevice = new Map<number, DiskNeed>();
  for (const { path, neededBytes } of parts) {
    const { device, freeBytes } = await read(nearestFolder(path));
    const before = byDevice.get(device);
    const needed = (before?.neededBytes ?? 0) + neededBytes;
    byDevice.set(device, {
      path: before?.path ?? path,
      neededBytes: needed,
      freeBytes,
      fits: needed <= freeBytes,
    });
  }
  return [...byDevice.values()];
}

async function readDisk(folder: string): Promise<DiskSpace> {
  const { bavail, bsize } = await statfs(folder);
  return { device: (await stat(folder)).dev, freeBytes: bavail * bsize };
}

function nearestFolder(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestFolder(dirname(path));
}
