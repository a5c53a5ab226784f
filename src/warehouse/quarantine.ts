import { createHash } from 'node:crypto';
import type { Database } from './database.ts';
import { loadRejected, REJECTED, type RejectedRecords } from './rejected-records.ts';

/** The scan in which a record was read. */
export interface QuarantineScope {
  readonly stream: string;
  /** Empty for a stream without slices. */
  readonly slice: string;
}

/** SQL for the id of a quarantined record: 64 hexadecimal digits of its stream, slice and text. */
export const QUARANTINE_ID = 'sha256(stream || chr(10) || slice || chr(10) || record)';

/** The same for a text in memory. */
function hashQuarantined({ stream, slice }: QuarantineScope, text: string): string {
  return createHash('sha256').update(`${stream}\n${slice}\n${text}`).digest('hex');
}

/** Reason for records whose key equals another record's key in its column. */
export const ALIKE =
  "is the same text in the table as another record's key, although the API's values differ";

/** Table with the ids of accepted records that may still be in quarantine. */
export const RELEASED = 'temp."~released"';

// This many digits of an id are selective enough for a filter.
const FILTER_DIGITS = 12;

/** Finds accepted records that may be in quarantine, by a prefix of each id. */
export interface QuarantineFilter {
  readonly scope: QuarantineScope;
  readonly ids: ReadonlySet<string>;
}

/** The id of a text if the filter contains it, else undefined. */
export function findQuarantined({ scope, ids }: QuarantineFilter, text: string): string | undefined {
  const id = hashQuarantined(scope, text);
  return ids.has(id.slice(0, FILTER_DIGITS)) ? id : undefined;
}

/** The filter for a scan; undefined if nothing in quarantine could ever become a row. */
export async function readQuarantineFilter(
  database: Database,
  scope: QuarantineScope,
): Promise<QuarantineFilter | undefined> {
  const rows = await database.all(
    `SELECT DISTINCT left(${QUARANTINE_ID}, ${FILTER_DIGITS}) AS id FROM _sluice.quarantine
       WHERE stream = $1 AND slice = $2 AND starts_with(ltrim(record), '{')`,
    [scope.stream, scope.slice],
  );
  return rows.length === 0 ? undefined : { scope, ids: new Set(rows.map((row) => String(row['id']))) };
}

/**
 * Quarantines a scan's rejected records; a record that is already there is not added again. Call in the transaction
 * that commits the scan.
 */
export async function quarantineRejected(
  database: Database,
  { stream, slice }: QuarantineScope,
  rejected: RejectedRecords,
  run: { readonly runId: string; readonly nowIso: string },
): Promise<void> {
  if (rejected.count === 0) return;
  await loadRejected(database, rejected);
  await database.run(
    `DELETE FROM _sluice.quarantine WHERE stream = $1 AND slice = $2 AND record IN (SELECT record FROM ${REJECTED})`,
    [stream, slice],
  );
  await database.run(
    `INSERT INTO _sluice.quarantine BY NAME SELECT $1 AS run_id, $2 AS stream, $3 AS slice, page_offset, row_index,
         reason, path, record, $4::TIMESTAMPTZ AS quarantined_at FROM ${REJECTED}`,
    [run.runId, stream, slice, run.nowIso],
  );
  await database.run(`DROP TABLE ${REJECTED}`);
}

/**
 * Releases the records that a scan accepted from quarantine; returns their number. Call in the same transaction.
 *
 * @param incoming the table of the scan's rows if some of them were not merged; those are not released
 */
export async function releaseAccepted(
  database: Database,
  { stream, slice }: QuarantineScope,
  incoming?: string,
): Promise<number> {
  const merged =
    incoming === undefined ? '' : ` WHERE position IN (SELECT _sluice_position FROM ${incoming})`;
  const where = `stream = $1 AND slice = $2 AND ${QUARANTINE_ID} IN (SELECT id FROM ${RELEASED}${merged})`;
  const count = await database.count(`SELECT count(*) FROM _sluice.quarantine WHERE ${where}`, [
    stream,
    slice,
  ]);
  if (count > 0) await database.run(`DELETE FROM _sluice.quarantine WHERE ${where}`, [stream, slice]);
  await database.run(`DROP TABLE ${RELEASED}`);
  return count;
}

/** Deletes a stream's quarantined records from before a field was masked: their texts contain it unmasked. */
export async function forgetUnmasked(database: Database, stream: string): Promise<void> {
  await database.run('DELETE FROM _sluice.quarantine WHERE stream = $1', [stream]);
}

/** Table of the quarantined records to retry, with `position` in their original order. */
export const RETRIED = 'temp."~retried"';

// Few enough for memory even if the records are large.
const RECORDS_AT_ONCE = 200;

/**
 * Fills the table `retried` with a scope's records and returns their number. Records whose key equals another
 * record's key are left out: only a scan can load them.
 */
export async function listRetried(database: Database, { stream, slice }: QuarantineScope): Promise<number> {
  await database.run(`DROP TABLE IF EXISTS ${RETRIED}`);
  await database.run(
    `CREATE TEMP TABLE "~retried" AS
       SELECT row_number() OVER (ORDER BY quarantined_at, page_offset, row_index, record) - 1 AS position, record,
              quarantined_at, absent_since IS NOT NULL AS absent
         FROM _sluice.quarantine WHERE stream = $1 AND slice = $2 AND reason <> $3`,
    [stream, slice, ALIKE],
  );
  return database.count(`SELECT count(*) FROM ${RETRIED}`);
}

/** Reads the texts of `retried` in order, in batches. */
export async function* readRetried(database: Database): AsyncGenerator<readonly string[]> {
  for (let from = 0; ; from += RECORDS_AT_ONCE) {
    const rows = await database.all(
      `SELECT record FROM ${RETRIED} WHERE position >= ${from} AND position < ${from + RECORDS_AT_ONCE} ORDER BY position`,
    );
    if (rows.length === 0) return;
    yield rows.map((row) => String(row['record']));
  }
}
