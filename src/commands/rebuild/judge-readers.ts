import { addUnproved } from '../../../state/unproved-streams.ts';
import { nameOf, type Stream } from '../../model/stream.ts';
import { readKeyName } from '../../storage/identity.ts';
import type { Database } from '../../warehouse/database.ts';
import { tableExists } from '../../warehouse/evolve-table.ts';
import { listScansOf } from '../../warehouse/held-tables.ts';
import { incomplete, type SliceArchive } from './find-archive.ts';

/** The scans that have rows, before a rebuild, and the key that the state has recorded. */
export interface HeldRows {
  readonly scans: ReadonlySet<string>;
  readonly keyName: string | undefined;
}

const UNKNOWN_KEY =
  'it is not recorded which key read these rows: the next sync first checks that its key reads the same data';

/** Looks at what a table holds. Rows that are there have shown whose they are, or will have to. */
export async function readHeldRows(database: Database, { table }: Stream): Promise<HeldRows> {
  const held = (await tableExists(database, table)) ? await listScansOf(database, table) : [];
  return { scans: new Set(held.map(({ name }) => name)), keyName: await readKeyName(database) };
}

/**
 * Refuses to bring back rows that another key read than the one of the state.
 *
 * @throws StorageError `archive_incomplete`
 */
export function assertOwnReaders(
  archives: readonly Pick<SliceArchive, 'stream' | 'scans'>[],
  { scans, keyName }: HeldRows,
): void {
  for (const archive of archives) {
    const reader = readerOf(archive);
    if (scans.has(nameOf(archive.stream)) || reader === '' || keyName === undefined || reader === keyName)
      continue;
    throw incomplete(
      archive.stream,
      'its table was dropped, and its archived pages were read with a different key than the other tables: they may be those of another account',
    );
  }
}

/** Notes whose rows the archive brought back where the state does not say that its own key read them. */
export async function noteReaders(
  database: Database,
  { table }: Stream,
  archives: readonly SliceArchive[],
  held: HeldRows,
): Promise<readonly string[]> {
  const readers = new Map(archives.map((archive) => [nameOf(archive.stream), readerOf(archive)]));
  const found = (await listScansOf(database, table))
    .filter(({ name }) => !held.scans.has(name))
    .map(({ name }) => [name, readers.get(name) ?? ''] as const)
    .filter(([, reader]) => reader === '' || reader !== held.keyName);
  await addUnproved(database, new Map(found));
  return found.some(([, reader]) => reader === '') ? [UNKNOWN_KEY] : [];
}

/** The key of the last scan, which read the same rows as those before it; empty if it is not recorded. */
function readerOf({ scans }: Pick<SliceArchive, 'scans'>): string {
  return scans.at(-1)?.key ?? '';
}
