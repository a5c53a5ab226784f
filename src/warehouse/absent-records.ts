import { joinPointer } from '../json/pointer.ts';
import type { ForcedType } from '../model/schema.ts';
import type { Database } from './database.ts';
import { quoteIdentifier, quoteLiteral } from './identifiers.ts';
import { INCOMING } from './incoming.ts';
import type { QuarantineScope } from './quarantine.ts';
import { castText } from './retype-column.ts';

/** A field of a record and the columns that hold its values. */
export interface KeptField {
  /** Path of member names from the root of the record. */
  readonly path: readonly string[];
  /** Default for a record without the field, as text. */
  readonly fill: string | undefined;
  /** The columns that hold its values: its own and its companion, if any. */
  readonly columns: readonly { readonly name: string; readonly type: ForcedType }[];
}

/** What a scan shows about records that were in quarantine before it started. */
export interface SeenRecords {
  readonly runId: string;
  /** ISO time. */
  readonly startedAt: string;
  /** The records it would have read again if the source still had them: all, those from a date on, or none. */
  readonly covers: 'all' | { readonly cursor: KeptField; readonly date: string } | undefined;
  /** The key by which incoming rows replace older records. */
  readonly key: readonly KeptField[] | undefined;
}

/**
 * Marks quarantined records that the source no longer has: the scan covered them without reading them, or read a row
 * with their key. Call before the scan's own records are quarantined, which clears the mark of records that were read
 * again.
 */
export async function markAbsent(
  database: Database,
  { stream, slice }: QuarantineScope,
  { runId, startedAt, covers, key }: SeenRecords,
): Promise<void> {
  if (covers === undefined && key === undefined) return;
  const held = `stream = ${quoteLiteral(stream)} AND slice = ${quoteLiteral(slice)} AND absent_since IS NULL
    AND quarantined_at <= ${quoteLiteral(startedAt)}::TIMESTAMPTZ`;
  if ((await database.count(`SELECT count(*) FROM _sluice.quarantine WHERE ${held}`)) === 0) return;
  const among = (fields: readonly KeptField[], then: string) =>
    `rowid IN (SELECT q.id FROM (SELECT rowid AS id, ${fields.map((field, at) => `${readField(field)} AS f${at}`).join(', ')}
       FROM _sluice.quarantine WHERE ${held}) q ${then})`;
  const shown: string[] = [];
  if (covers === 'all') shown.push('true');
  else if (covers !== undefined) {
    const { cursor, date } = covers;
    shown.push(among([cursor], `WHERE TRY_CAST(left(q.f0, 10) AS DATE) >= ${quoteLiteral(date)}::DATE`));
  }
  if (covers !== 'all' && key !== undefined) {
    const match = key.map((field, at) => matchField('s', `q.f${at}`, field));
    shown.push(among(key, `SEMI JOIN ${INCOMING} s ON ${match.join(' AND ')}`));
  }
  await database.run(
    `UPDATE _sluice.quarantine SET absent_since = $1 WHERE ${held} AND (${shown.join(' OR ')})`,
    [runId],
  );
}

/** The oldest day (ISO) of a scope's quarantined records; undefined if one has none. */
export async function findRecordDay(
  database: Database,
  { stream, slice }: QuarantineScope,
  cursor: KeptField,
): Promise<string | undefined> {
  const [row] = await database.all(
    `SELECT CAST(min(q.day) AS VARCHAR) AS day, count(*) - count(q.day) AS undated
       FROM (SELECT TRY_CAST(left(${readField(cursor)}, 10) AS DATE) AS day FROM _sluice.quarantine
         WHERE stream = $1 AND slice = $2 AND absent_since IS NULL) q`,
    [stream, slice],
  );
  return Number(row?.['undated'] ?? 0) > 0 || typeof row?.['day'] !== 'string' ? undefined : row['day'];
}

/** SQL for a field's value in a quarantined record, as text; NULL if the engine cannot extract it. */
export function readField({ path, fill }: KeptField): string {
  // The engine supports neither in a path literal.
  const isSayable = path.every((name) => !name.includes('\u0000') && name.isWellFormed());
  const pointer = quoteLiteral(joinPointer(path));
  const text = isSayable
    ? `CASE WHEN json_valid(record) THEN json_extract_string(record, ${pointer}) END`
    : 'NULL::VARCHAR';
  return fill === undefined ? text : `coalesce(${text}, ${quoteLiteral(fill)})`;
}

/** Condition for rows of `alias` that have a value, given as SQL for its text, in one of a field's columns. */
export function matchField(alias: string, text: string, { columns }: KeptField): string {
  const equal = columns.map(
    ({ name, type }) => `${alias}.${quoteIdentifier(name)} = ${castText(text, type)}`,
  );
  return equal.length === 0 ? 'false' : `(${equal.join(' OR ')})`;
}
