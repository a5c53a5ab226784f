import { existsSync } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { listArchive } from '../../archive/archive-folder.ts';
import type { DiskNeed, PlannedStream, PlanReport } from '../../model/reports.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import { sliceIdOf, sliceStream } from '../../model/stream.ts';
import { openOwnPublished } from '../../warehouse/query-published.ts';
import { archiveFolder, workFile } from '../state-folder.ts';

// Of a record nobody has seen: its text, its text compressed, and its row.
const RECORD_BYTES = 500;
const PACKED_SHARE = 0.15;
const ROW_BYTES = 150;
/** A file of the engine that holds next to nothing. */
const EMPTY_FILE_BYTES = 3 * 2 ** 20;

/** What one record takes: staged as text, archived, and as a row. */
interface Sizes {
  readonly staged: number;
  readonly packed: number;
  readonly row: number;
}

/**
 * What the next sync takes of the disk, from what earlier ones left: the pages of its largest stream and the
 * rows made of them, the archive, the growth of the work file, the published copy beside the one that it
 * replaces, and the lake's new files beside the old ones. One entry a file system; undefined while the size of a stream is unknown.
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
    // The records as received, and once more as the engine reads them.
    largestStage = Math.max(largestStage, rows * staged * 2);
    archived += settings.retention.archiveMs === 0 ? 0 : rows * packed;
    // Rows that are replaced need new blocks before the old ones are free.
    grown += rows * row;
  }
  const read = streams.reduce((sum, { rows = 0 }) => sum + rows, 0);
  const published = read === 0 ? 0 : Math.max(held.fileBytes + grown, EMPTY_FILE_BYTES);
  const state = read === 0 ? 0 : largestStage + archived + Math.max(grown, EMPTY_FILE_BYTES);
  return addUp([
    { path: settings.stateDir, neededBytes: Math.ceil(state) },
    ...(settings.publishesDuckdb
      ? [{ path: dirname(settings.duckdbPath), neededBytes: Math.ceil(published) }]
      : []),
    // At the worst every partition changes, and stays for the grace time as it was.
    ...(settings.lakePath === undefined
      ? []
      : [{ path: settings.lakePath, neededBytes: Math.ceil(published) }]),
  ]);
}

async function measureTables(
  settings: OfflineSettings,
): Promise<{ readonly fileBytes: number; readonly rows: number }> {
  const file = workFile(settings.stateDir);
  const path = settings.duckdbPath;
  const bytes = async (name: string) => (existsSync(name) ? (await stat(name)).size : 0);
  if (!existsSync(path)) return { fileBytes: await bytes(file), rows: 0 };
  const database = await openOwnPublished(path);
  try {
    const rows = await database.count(
      `SELECT coalesce(sum(estimated_size), 0) FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = 'main'`,
    );
    return { fileBytes: Math.max(await bytes(file), await bytes(path)), rows };
  } finally {
    await database.release();
  }
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
  // A file of few rows is mostly its own furniture, and a row is never larger than the text it came from.
  const row = held.rows === 0 ? ROW_BYTES : held.fileBytes / held.rows;
  return { staged, packed, row: Math.min(row, staged) };
}

/** Adds up what lies on one file system, and what that has left. */
async function addUp(
  parts: readonly { readonly path: string; readonly neededBytes: number }[],
): Promise<readonly DiskNeed[]> {
  const byDevice = new Map<number, DiskNeed>();
  for (const { path, neededBytes } of parts) {
    const there = nearestFolder(path);
    const { dev } = await stat(there);
    const { bavail, bsize } = await statfs(there);
    const before = byDevice.get(dev);
    const needed = (before?.neededBytes ?? 0) + neededBytes;
    const freeBytes = bavail * bsize;
    byDevice.set(dev, {
      path: before?.path ?? path,
      neededBytes: needed,
      freeBytes,
      fits: needed <= freeBytes,
    });
  }
  return [...byDevice.values()];
}

function nearestFolder(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestFolder(dirname(path));
}
