import { joinPointer } from '../json/pointer.ts';
import type { ForcedType } from '../model/schema.ts';
import type { Database } from './database.ts';
import { quoteIdentifier, quoteLiteral } from './identifiers.ts';
import { INCOMING } from './project-stage.ts';
import type { QuarantineScope } from './quarantine.ts';
import { castText } from './retype-column.ts';

/** A field of a record, and where its values go. */
export interface KeptField {
  /** Member names from the record's root. */
  readonly path: readonly string[];
  /** What a record without the field is given, as text. */
  readonly fill: string | undefined;
  /** The columns that hold its values: its own, and its companion where it has one. */
  readonly columns: readonly { readonly name: string; readonly type: ForcedType }[];
}

/** What a scan says of records that were in quarantine before it began. */
export interface SeenRecords {
  readonly runId: string;
  /** ISO time. */
  readonly startedAt: string;
  /** Those it would have brought again, had the source still got them: all, those dated from a day on, or none. */
  readonly covers: 'all' | { readonly cursor: KeptField; readonly date: string } | undefined;
  /** The key by which incoming rows are newer versions of records. */
  readonly key: readonly KeptField[] | undefined;
}

/**
 * Marks the records in quarantine that the source no longer has, as a scan shows: it covered them, or brought a row
 * of their key. Call before the scan's own records are quarantined, which takes the mark from those that still come.
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
    `rowid IN (SELECT q.id FROM (SELECT rowid AS id, ${fields.map((field, at) => `${readText(field)} AS f${at}`).join(', ')}
       FROM _sluice.quarantine WHERE ${held}) q ${then})`;
  const shown: string[] = [];
  if (covers === 'all') shown.push('true');
  else if (covers !== undefined) {
    const { cursor, date } = covers;
    shown.push(among([cursor], `WHERE TRY_CAST(left(q.f0, 10) AS DATE) >= ${quoteLiteral(date)}::DATE`));
  }
  if (covers !== 'all' && key !== undefined) {
    const match = key.map(
      ({ columns }, at) => `(${columns.map((column) => isHeld(`q.f${at}`, column)).join(' OR ')})`,
    );
    shown.push(among(key, `SEMI JOIN ${INCOMING} s ON ${match.join(' AND ')}`));
  }
  await database.run(
    `UPDATE _sluice.quarantine SET absent_since = $1 WHERE ${held} AND (${shown.join(' OR ')})`,
    [runId],
  );
}

/** SQL for a field's value as text; NULL where the engine cannot tell. */
function readText({ path, fill }: KeptField): string {
  // The engine knows neither in a literal.
  const isSayable = path.every((name) => !name.includes('\u0000') && name.isWellFormed());
  const pointer = quoteLiteral(joinPointer(path));
  const text = isSayable
    ? `CASE WHEN json_valid(record) THEN json_extract_string(record, ${pointer}) END`
    : 'NULL::VARCHAR';
  return fill === undefined ? text : `coalesce(${text}, ${quoteLiteral(fill)})`;
}

function isHeld(text: string, { name, type }: KeptField['columns'][number]): string {
  return `s.${quoteIdentifier(name)} = ${castText(text, type)}`;
}
