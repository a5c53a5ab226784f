import { createHash } from 'node:crypto';
import type { Database } from './database.ts';
import { loadRejected, REJECTED, type RejectedRecords } from './rejected-records.ts';

/** The scan that a record was read in. */
export interface QuarantineScope {
  readonly stream: string;
  /** Empty for a stream without slices. */
  readonly slice: string;
}

/** SQL for the id of a quarantined record: 64 hexadecimal digits of its stream, slice and text. */
export const QUARANTINE_ID = 'sha256(stream || chr(10) || slice || chr(10) || record)';

/** The same for a text at hand. */
export function hashQuarantined({ stream, slice }: QuarantineScope, text: string): string {
  return createHash('sha256').update(`${stream}\n${slice}\n${text}`).digest('hex');
}

/** Why a record is in quarantine whose key its column cannot hold beside that of another record. */
export const ALIKE =
  "cannot be told from another record's: they differ in the API, and are one text in the table";

/** Table with the ids of accepted records that may be in quarantine from earlier runs. */
export const RELEASED = 'temp."~released"';

// So many digits of an id tell records apart well enough to look the rest up.
const FILTER_DIGITS = 12;

/** Says which accepted records may be in quarantine, from a part of each id. */
export interface QuarantineFilter {
  readonly scope: QuarantineScope;
  readonly ids: ReadonlySet<string>;
}

/** The id of a text that the filter knows, or undefined. */
export function findQuarantined({ scope, ids }: QuarantineFilter, text: string): string | undefined {
  const id = hashQuarantined(scope, text);
  return ids.has(id.slice(0, FILTER_DIGITS)) ? id : undefined;
}

/** The filter for a scan; undefined while nothing is in quarantine that could ever become a row. */
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
 * Puts a scan's rejected records into quarantine, each as often as it came: a record seen before is there once.
 * Call in the transaction that commits the scan.
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
 * Takes the records out of quarantine that a scan accepted; returns how many. In the same transaction, too.
 *
 * @param incoming the table of the scan's rows where some of it were not merged, so that only the others count
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

/** Forgets what a stream has in quarantine from before one of its fields was masked: the texts hold it raw. */
export async function forgetUnmasked(database: Database, stream: string): Promise<void> {
  await database.run('DELETE FROM _sluice.quarantine WHERE stream = $1', [stream]);
}

/** Table of the quarantined records that are tried again: `position` in the order they came, and what is known of them. */
export const RETRIED = 'temp."~retried"';

// Few enough that even large records do not fill the memory.
const RECORDS_AT_ONCE = 200;

/**
 * Makes the table `retried` of a scope's records and returns how many there are. The row of a record whose key is alike
 * is another's: only a scan that brings it alone can load it.
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

/** The texts of `retried`, in their order, a few at a time. */
export async function* readRetried(database: Database): AsyncGenerator<readonly string[]> {
  for (let from = 0; ; from += RECORDS_AT_ONCE) {
    const rows = await database.all(
      `SELECT record FROM ${RETRIED} WHERE position >= ${from} AND position < ${from + RECORDS_AT_ONCE} ORDER BY position`,
    );
    if (rows.length === 0) return;
    yield rows.map((row) => String(row['record']));
  }
}
