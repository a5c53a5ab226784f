import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import type { SyncError } from '../../model/errors.ts';
import { LAKE_MANIFEST } from '../../model/lake.ts';
import { findWrongRows } from '../../publish/lake/prove-rows.ts';
import type { Database } from '../../warehouse/database.ts';
import type { TableFingerprint } from '../../warehouse/fingerprint-tables.ts';
import { readLakeEntry } from '../../warehouse/lake-entry.ts';

/** The fix where there is neither a state nor anything published. */
export const SYNC_FIX =
  'Nothing was synced with this config yet: sluice sync does it. If something was, check stateDir and destination.';
export const REPUBLISH_FIX = 'sluice sync publishes it; fresh streams cost no request.';
export const LAKE_FIX =
  'Move lake.duckdb away and run sluice sync: what is missing is written again, without a request for fresh streams.';
export const DAMAGED_FILE_FIX =
  'Move this file and lake.duckdb away and run sluice sync: both are written again, without a request for fresh streams.';
// Without a work file, the state is in the lake alone.
export const LONE_LAKE_FIX =
  'Put the lake back from a backup. Without one, move its folder away: the next sync reads everything from the API.';

/** What a sync is to do where there is no lake; a folder that nobody knows it would refuse. */
export async function adviseForMissing(lake: string): Promise<string> {
  const isEmpty =
    !existsSync(lake) || (await readdir(lake)).every((name) => name === `.${LAKE_MANIFEST}.tmp`);
  return isEmpty || existsSync(`${lake}/${LAKE_MANIFEST}`)
    ? REPUBLISH_FIX
    : `Put ${LAKE_MANIFEST} back from a backup of the lake. Without one, move what is in the folder away and run sluice sync, which publishes a new lake; into a folder with other files it writes nothing.`;
}

/** Which rows of a lake are not those that were published, a sentence a table: told without any other file. */
export async function findDamagedRows(
  database: Database,
  lake: string,
  tables: ReadonlyMap<string, TableFingerprint>,
): Promise<readonly string[]> {
  const damages: string[] = [];
  for (const table of await readLakeEntry(database)) {
    const held = tables.get(`main.${table.table}`);
    if (held === undefined) {
      damages.push(`${table.table} has no view in lake.duckdb`);
      continue;
    }
    const wrong = await findWrongRows(database, lake, table, { rows: held.rows, sum: BigInt(held.sum) });
    if (wrong !== undefined) damages.push(wrong);
  }
  return damages;
}

// A sync repairs the work file from the published one, not the other way round.
export function hintFor(name: string, { code, hint }: SyncError): string {
  return name === 'published file' && code === 'state_damaged'
    ? 'Move it away and run `sluice sync`: it is published again from the work file, without a request for fresh streams.'
    : hint;
}
