import { ConfigError } from '../../model/errors.ts';
import type { PartitionRule } from '../../model/lake.ts';
import { quoteIdentifier, quoteLiteral } from '../../warehouse/identifiers.ts';
import { DATED } from '../stored-values.ts';
import type { LakePartition } from './manifest.ts';

/** Values in a partition's folder names as text, in order; null where the rows have none. */
export type PartitionKey = readonly (string | null)[];

const PLAIN = ['VARCHAR', 'BOOLEAN', 'BIGINT', 'DATE'];
/** Longest folder name that every file system accepts, bytes. */
const NAME_BYTES = 255;

/**
 * The keys in the folder names of a table.
 *
 * @param columns names and engine types
 * @throws ConfigError for a column that does not exist or cannot be used in folder names
 */
export function resolvePartitions(
  table: string,
  rules: readonly PartitionRule[],
  columns: ReadonlyMap<string, string>,
): readonly LakePartition[] {
  const found: LakePartition[] = [];
  for (const { column, transform } of rules) {
    const type = columns.get(column);
    if (type === undefined) {
      throw toRefusal(
        table,
        `there is no column ${column}`,
        `Its columns: ${[...columns.keys()].join(', ')}.`,
      );
    }
    if (transform === 'identity' && !PLAIN.includes(type)) {
      const instead = DATED.includes(type)
        ? `Write day(${column}) or month(${column}).`
        : `Choose another column.`;
      throw toRefusal(table, `${column} is of type ${type}, which cannot be used in folder names`, instead);
    }
    if (transform !== 'identity' && !DATED.includes(type))
      throw toRefusal(
        table,
        `${transform}(${column}) needs a date, and ${column} is of type ${type}`,
        'Choose another column.',
      );
    const isColumn = transform === 'identity' || (transform === 'day' && type === 'DATE');
    const taken = [...columns.keys(), ...found.map(({ folder }) => folder)];
    found.push({
      folder: isColumn ? column : nameFolder(column, transform, taken),
      column,
      transform: isColumn ? 'identity' : transform,
      type: isColumn ? type : 'VARCHAR',
    });
  }
  const names = found.map(({ folder }) => folder.toLowerCase());
  const twice = found.find(({ folder }, at) => names.indexOf(folder.toLowerCase()) !== at);
  if (twice !== undefined) throw toRefusal(table, `${twice.column} is named twice`, 'Name it once.');
  return found;
}

function toRefusal(table: string, why: string, instead: string): ConfigError {
  return new ConfigError(`the lake cannot partition ${table}: ${why}`, {
    code: 'config_invalid',
    hint: `Fix streams.${table.replace(/_history$/, '')}.partitionBy. ${instead} The rows are committed, and the lake is unchanged.`,
    context: { stream: table },
  });
}

// Readers see a folder's key as a column: it must not hide a column of the table.
function nameFolder(column: string, transform: string, taken: readonly string[]): string {
  let name = `${column}_${transform === 'day' ? 'date' : transform}`;
  while (taken.some((one) => one.toLowerCase() === name.toLowerCase())) name = `_${name}`;
  return name;
}

/** Columns whose values are in folder names instead of the files. */
export function columnsInFolders(partitions: readonly LakePartition[]): ReadonlySet<string> {
  return new Set(partitions.filter(({ transform }) => transform === 'identity').map(({ column }) => column));
}

/** SQL for a row's value at one folder level: text, or null. */
export function keyExpression({ column, transform }: LakePartition): string {
  const name = quoteIdentifier(column);
  switch (transform) {
    case 'identity':
      return `CAST(${name} AS VARCHAR)`;
    case 'day':
      return `CAST(CAST(${name} AS DATE) AS VARCHAR)`;
    case 'month':
      return `strftime(CAST(${name} AS DATE), '%Y-%m')`;
    case 'year':
      return `strftime(CAST(${name} AS DATE), '%Y')`;
  }
}

/** SQL condition for the rows of one partition. */
export function isInPartition(partitions: readonly LakePartition[], key: PartitionKey): string {
  const conditions = partitions.map((partition, at) => {
    const value = key[at] ?? null;
    const name = quoteIdentifier(partition.column);
    if (value === null) return `${keyExpression(partition)} IS NULL`;
    // Compared in its stored type, so that row groups with other values are skipped.
    if (partition.transform === 'identity')
      return `${name} = CAST(${quoteLiteral(value)} AS ${partition.type})`;
    return `${keyExpression(partition)} = ${quoteLiteral(value)}`;
  });
  return conditions.length === 0 ? 'true' : conditions.join(' AND ');
}

/** Folders of a partition below its generation: `country=de/date=2026-11-20`; empty without partitions. */
export function partitionFolder(
  table: string,
  partitions: readonly LakePartition[],
  key: PartitionKey,
): string {
  return partitions
    .map(({ folder, column }, at) => {
      const name = `${folder}=${encodeValue(key[at] ?? null)}`;
      if (Buffer.byteLength(name) <= NAME_BYTES) return name;
      const shown = `${(key[at] ?? '').slice(0, 40)}…`;
      throw toRefusal(
        table,
        `a value of ${column} is too long to name a folder (${shown})`,
        'Choose another column.',
      );
    })
    .join('/');
}

function encodeValue(value: string | null): string {
  if (value === null) return '__HIVE_DEFAULT_PARTITION__';
  // Readers take these words for null in any case; one encoded letter keeps them text.
  if (/^(?:null|__hive_default_partition__)$/i.test(value))
    return `%${value.charCodeAt(0).toString(16).toUpperCase()}${value.slice(1)}`;
  return encodeSegment(value);
}

function encodeSegment(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
