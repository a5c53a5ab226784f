import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { findChain } from '../../archive/find-chain.ts';
import { toDate } from '../../model/dates.ts';
import { formatDuration } from '../../text/duration.ts';
import { type SyncError, toSyncError } from '../../model/errors.ts';
import { formatCountOf } from '../../text/format-count.ts';
import type { CheckItem } from '../../model/reports.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import { type Checkpoint, nameOf, sliceIdOf, sliceStream, type Stream } from '../../model/stream.ts';
import { readStage } from '../../stage/stage-store.ts';
import { assertFits, listReadable, type SliceArchive } from '../rebuild/find-archive.ts';
import { assertOwnReaders, type HeldRows } from '../rebuild/judge-readers.ts';
import { archiveFolder } from '../../storage/state-folder.ts';

/** What the archive belongs to. */
export interface ArchivedState {
  readonly checkpoints: readonly Checkpoint[];
  /** By stream; none where the tables could not be read. */
  readonly held: ReadonlyMap<string, HeldRows>;
}

/** Whether each stream's archived scans are intact and form a chain that ends with its last commit. */
export async function verifyArchives(
  settings: OfflineSettings,
  { checkpoints, held }: ArchivedState,
  signal: AbortSignal | undefined,
): Promise<readonly CheckItem[]> {
  const items: CheckItem[] = [];
  for (const stream of settings.streams.flatMap(sliceStream)) {
    const checkpoint = checkpoints.find(
      (one) => one.stream === stream.name && one.slice === sliceIdOf(stream),
    );
    const known = { checkpoint, held: held.get(stream.name) };
    items.push(...(await verifyArchive(settings, stream, known, signal)));
  }
  return items;
}

interface Known {
  readonly checkpoint: Checkpoint | undefined;
  readonly held: HeldRows | undefined;
}

async function verifyArchive(
  settings: OfflineSettings,
  stream: Stream,
  { checkpoint, held }: Known,
  signal: AbortSignal | undefined,
): Promise<readonly CheckItem[]> {
  const folder = archiveFolder(settings.stateDir, stream);
  const name = `archive of ${nameOf(stream)}`;
  const listed = await listReadable(folder, checkpoint?.runId, signal).catch(toDenial);
  if (listed instanceof Error)
    return [{ name, status: 'failed', detail: listed.message, fix: PERMISSION_FIX }];
  const { scans, damaged } = listed;
  const fix = `sluice sync --full-refresh --streams ${stream.name} archives it again.`;
  const failed = damaged.map((detail): CheckItem => {
    return { name, status: 'failed', detail, fix: DENIED.test(detail) ? PERMISSION_FIX : fix };
  });
  if (checkpoint === undefined && scans.length === 0) return failed;
  if (scans.length === 0 && settings.retention.archiveMs === 0)
    return [
      ...failed,
      { name, status: 'skipped', detail: 'none is kept (retention.archive: 0)', fix: undefined },
    ];
  const chain = findChain(scans, checkpoint?.runId);
  if (chain.kind === 'broken') {
    const detail = `the table cannot be rebuilt from it: ${chain.reason}`;
    return [...failed, { name, status: 'warning', detail, fix }];
  }
  const misfit = findMisfit(settings, { stream, scans: chain.scans }, held);
  if (misfit !== undefined)
    return [...failed, { name, status: 'warning', detail: misfit.message, fix: misfit.hint }];
  const records = chain.scans.reduce((sum, { rows }) => sum + rows, 0);
  const since = toDate(chain.scans[0]?.loadedAtMs ?? 0);
  const detail = `scans since ${since}: ${chain.scans.length}, with ${formatCountOf(records, 'record')}; all complete`;
  return [
    ...damaged.map((what): CheckItem => ({ name, status: 'warning', detail: what, fix: EARLIER_FIX })),
    { name, status: 'ok', detail, fix: undefined },
  ];
}

const PERMISSION_FIX =
  'Let this user read it, e.g. with chown: a run as another user has probably written it. Nothing is lost.';
/** What the operating system says of a file or folder of another user. */
const DENIED = /\b(?:EACCES|EPERM): /;

/** The error of a folder that this user may not read; throws any other. */
function toDenial(thrown: unknown): Error {
  if (thrown instanceof Error && DENIED.test(thrown.message)) return thrown;
  throw thrown;
}

/** Of a damaged scan that came before those that a rebuild loads. */
const EARLIER_FIX =
  'Later scans are complete, and rebuild loads those; rows that left the API before them are in the table alone. Nothing repairs the file: it is removed after retention.archive.';

/** What a rebuild would reject although every scan is intact. */
function findMisfit(
  settings: OfflineSettings,
  archive: Pick<SliceArchive, 'stream' | 'scans'>,
  held: HeldRows | undefined,
): SyncError | undefined {
  try {
    assertFits(settings, archive.stream, archive.scans);
    if (held !== undefined) assertOwnReaders([archive], held);
    return undefined;
  } catch (thrown) {
    return toSyncError(thrown);
  }
}

/** Pages left by stopped scans, which the next sync can use. */
export async function verifyStages(settings: OfflineSettings, nowMs: number): Promise<readonly CheckItem[]> {
  const folder = join(settings.stateDir, 'stage');
  const items: CheckItem[] = [];
  for (const name of await readdir(folder).catch(() => [])) {
    const stage = await readStage(join(folder, name));
    if (stage === undefined) continue;
    const age = formatDuration(Math.max(0, nowMs - stage.scan.startedAtMs));
    const detail = `${name}: ${formatCountOf(stage.pages.length, 'page')} of an unfinished scan started ${age} ago; the next sync resumes it or starts over`;
    items.push({ name: 'staged pages', status: 'warning', detail, fix: undefined });
  }
  return items.length > 0
    ? items
    : [{ name: 'staged pages', status: 'ok', detail: 'none are left over', fix: undefined }];
}
