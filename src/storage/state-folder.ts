import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { OfflineSettings, SyncOptions } from '../model/settings.ts';
import type { Stream } from '../model/stream.ts';
import { buildUrl } from '../http/build-url.ts';
import { describeMasks } from '../schema/mask-records.ts';

/** How long staged pages can be used. */
export const STAGE_LIFETIME_MS = 24 * 3_600_000;

/**
 * Folder of a stream's stage below the state folder. Scans with --limit or --from have their own folder: they must
 * not delete the pages of a stopped scan.
 */
export function stageFolder(stateDir: string, stream: Stream, { limit, from }: SyncOptions): string {
  const isAside = limit !== undefined || from !== undefined;
  const name = stream.slice === undefined ? stream.name : `${stream.name}.${hashSlice(stream.slice.id)}`;
  return join(stateDir, 'stage', isAside ? `${name}.aside` : name);
}

/** Folder of the archived scans of all streams. */
export function archiveRoot(stateDir: string): string {
  return join(stateDir, 'archive');
}

/** Folder of a stream's (or a slice's) archived scans. */
export function archiveFolder(stateDir: string, stream: Stream): string {
  const slice = stream.slice === undefined ? 'whole' : hashSlice(stream.slice.id);
  return join(archiveRoot(stateDir), stream.name, slice);
}

// A slice's values may be any text, and no text of a source may name a path.
function hashSlice(id: string): string {
  return createHash('sha256').update(id).digest('hex').slice(0, 16);
}

/** Names what staged pages answer: connector, base URL, path, parameters, start date, page size, limit and masked fields. */
export function hashQuestion(
  settings: OfflineSettings,
  stream: Stream,
  from: string | undefined,
  limit: number | undefined,
): string {
  const url = buildUrl(settings, stream, from, undefined);
  const parts = [
    settings.connector.name,
    url.href,
    stream.pageSize,
    stream.paginated,
    stream.recordsPointer ?? '',
    limit ?? '',
    // Records with a different mask are different records.
    ...Object.entries(describeMasks(stream, settings.hashKey)).toSorted(),
  ];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}

/** Names what a stream asks for, apart from how: pages of another address have different data. */
export function hashAddress(settings: OfflineSettings, stream: Stream): string {
  const url = buildUrl(settings, stream, undefined, undefined);
  const parts = [settings.connector.name, url.href, stream.paginated, stream.recordsPointer ?? ''];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}
