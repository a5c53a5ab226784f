import type { ViolationCounts } from '../contract/violation-counts.ts';
import { ExactNumber } from '../json/exact-number.ts';
import { canonicalText } from '../json/fingerprint.ts';
import { parseExact } from '../json/exact-number.ts';
import { sliceIdOf, type Stream } from '../model/stream.ts';
import { toFieldName } from '../schema/field-paths.ts';
import { isRecordObject } from '../schema/observe-fields.ts';
import type { ColumnPlan } from '../schema/resolve-columns.ts';
import type { Database } from '../warehouse/database.ts';
import { quoteIdentifier } from '../warehouse/identifiers.ts';
import { deleteIncoming, INCOMING } from '../warehouse/incoming.ts';
import { ALIKE, RELEASED } from '../warehouse/quarantine.ts';
import { copyRejected, type RejectedRecords, RejectedWriter } from '../warehouse/rejected-records.ts';
import { readStagedRecords, type StagedRecord } from '../stage/staged-records.ts';
import type { FetchedScan } from '../run/scan.ts';
import { findColumn, withCompanions } from './key-columns.ts';
import { locateRecords } from './locate-records.ts';

/** A scan whose keys are checked. */
export interface AlikeQuestion {
  readonly database: Database;
  readonly stream: Stream;
  readonly scan: FetchedScan;
  readonly columns: readonly ColumnPlan[];
  readonly rejected: RejectedRecords;
  readonly releases: boolean;
  readonly found: ViolationCounts;
}

/** What checking a scan's keys came to. */
export interface CheckedKeys {
  /** All rejected records of the scan. */
  readonly rejected: RejectedRecords;
  /** Columns in which no two incoming rows are equal, if that was found. */
  readonly uniqueBy: readonly string[] | undefined;
}

/**
 * Rejects keys that differ in the API and are equal in the table: `1` and `"1"` in a text column, or texts with lone
 * surrogates, which have no UTF-8 form. The records of one such key are kept, the same in every scan; the others are
 * removed from the incoming rows.
 */
export async function rejectAlikeKeys(question: AlikeQuestion): Promise<CheckedKeys> {
  const { database, stream, scan, columns, rejected } = question;
  const fields = listKeyColumns(stream, columns);
  if (fields.length === 0) return { rejected, uniqueBy: undefined };
  const key = withCompanions(
    fields.map(({ name }) => name),
    columns,
  );
  const groups = await listRepeated(database, key);
  const left = new Map<number, StagedRecord>();
  if (groups.size > 0) {
    for (const record of await listLeftOut(scan.recordsFile, groups, fields))
      left.set(record.position, record);
  }
  if (scan.plan.mode === 'incremental') {
    for (const record of await listKnown(question, fields)) left.set(record.position, record);
  }
  return {
    rejected: left.size === 0 ? rejected : await takeOut(question, fields, [...left.values()]),
    uniqueBy: groups.size === 0 ? key : undefined,
  };
}

/** Columns of a configured key. Values of a column with a configured type are meant to be equal in it. */
function listKeyColumns({ key }: Stream, columns: readonly ColumnPlan[]): readonly ColumnPlan[] {
  if (key.kind !== 'fields') return [];
  const found = key.fields.map((field) => findColumn(field, columns));
  return found.every((column): column is ColumnPlan => column !== undefined && column.type !== 'NULL')
    ? found
    : [];
}

/** Positions of incoming rows that share a key, with a number for each key. */
async function listRepeated(
  database: Database,
  key: readonly string[],
): Promise<ReadonlyMap<number, number>> {
  const names = key.map(quoteIdentifier).join(', ');
  const match = key.map(
    (name) => `i.${quoteIdentifier(name)} IS NOT DISTINCT FROM g.${quoteIdentifier(name)}`,
  );
  // Grouped and not sorted: in most scans no key repeats.
  const rows = await database.all(
    `SELECT i._sluice_position AS p, g.k FROM ${INCOMING} i
       JOIN (SELECT ${names}, row_number() OVER () AS k FROM ${INCOMING} GROUP BY ${names} HAVING count(*) > 1) g
         ON ${match.join(' AND ')}`,
  );
  return new Map(rows.map(({ p, k }) => [Number(p), Number(k)]));
}

async function listLeftOut(
  recordsFile: string,
  groups: ReadonlyMap<number, number>,
  fields: readonly ColumnPlan[],
): Promise<readonly StagedRecord[]> {
  const kept = new Map<number, string>();
  const records: { readonly record: StagedRecord; readonly group: number; readonly key: string }[] = [];
  for await (const staged of readStagedRecords(recordsFile)) {
    for (const record of staged) {
      const group = groups.get(record.position);
      if (group === undefined) continue;
      const key = identify(record.value, fields);
      records.push({ record, group, key });
      const least = kept.get(group);
      // The same one in every scan, whatever their order.
      if (least === undefined || key < least) kept.set(group, key);
    }
  }
  return records.filter(({ group, key }) => kept.get(group) !== key).map(({ record }) => record);
}

/**
 * Records of an incremental scan whose key is in quarantine: the row of that key in the table belongs to a different
 * record.
 */
async function listKnown(
  { database, stream, scan }: AlikeQuestion,
  fields: readonly ColumnPlan[],
): Promise<readonly StagedRecord[]> {
  const rows = await database.all(
    'SELECT record FROM _sluice.quarantine WHERE stream = $1 AND slice = $2 AND starts_with(reason, $3) AND absent_since IS NULL',
    [stream.name, sliceIdOf(stream), ALIKE],
  );
  if (rows.length === 0) return [];
  const known = new Set(rows.map(({ record }) => identifyWhole(parseExact(String(record)), fields)));
  const found: StagedRecord[] = [];
  for await (const staged of readStagedRecords(scan.recordsFile))
    found.push(...staged.filter(({ value }) => known.has(identifyWhole(value, fields))));
  return found;
}

/** A record's key as distinguished by the API. */
function identify(record: unknown, fields: readonly ColumnPlan[]): string {
  return fields.map((field) => identifyValue(readPath(record, field), field)).join('\n');
}

/** The same with complete values, for records that may not share a key in the table. */
function identifyWhole(record: unknown, fields: readonly ColumnPlan[]): string {
  const values = fields.map((field) => {
    const value = readPath(record, field) ?? null;
    return field.forcedType !== undefined && typeof value === 'string' ? value : canonicalText(value);
  });
  return [identify(record, fields), ...values].join('\n');
}

function identifyValue(value: unknown, { type, forcedType }: ColumnPlan): string {
  if (forcedType !== undefined) return '';
  if (value instanceof ExactNumber || typeof value === 'number') return '1 number';
  if (typeof value === 'string') return type === 'VARCHAR' ? `2 ${JSON.stringify(value)}` : '2';
  return `3 ${canonicalText(value ?? null)}`;
}

function readPath(record: unknown, { path }: ColumnPlan): unknown {
  return path.reduce<unknown>((value, part) => {
    const name = toFieldName(part);
    return isRecordObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  }, record);
}

async function takeOut(
  { database, stream, scan, rejected, releases, found }: AlikeQuestion,
  fields: readonly ColumnPlan[],
  records: readonly StagedRecord[],
): Promise<RejectedRecords> {
  const path = fields.map((field) => field.path.map(toFieldName));
  const name = path.map((names) => names.join('.')).join(', ');
  const placeOf = await locateRecords(stream, scan.recordsFile);
  const writer = new RejectedWriter(`${scan.recordsFile}.rejected.all`);
  try {
    await copyRejected(rejected, writer);
    for (const { position, text } of records) {
      found.add(position, [{ path: [name], kind: 'rule', reason: ALIKE }]);
      await writer.add({ position, ...placeOf(position), reason: ALIKE, path: name, text });
    }
    const positions = records.map(({ position }) => position).join(', ');
    await deleteIncoming(database, `s._sluice_position IN (${positions})`);
    // They may already be in quarantine, and stay there.
    if (releases) await database.run(`DELETE FROM ${RELEASED} WHERE position IN (${positions})`);
    return await writer.finish();
  } finally {
    await writer.close();
  }
}
