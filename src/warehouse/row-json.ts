import type { ClientColumn } from '../model/client-stream.ts';
import { quoteIdentifier, quoteLiteral } from './identifiers.ts';

/** SQL for the JSON members of a row of `t`, e.g. `"id":1,"name":null`; numbers are as exact as in the table. */
export function describeMembers(columns: readonly ClientColumn[]): string {
  return joinMembers(columns.map((column) => describeMember(column, `t.${quoteColumn(column)}`)));
}

/** SQL for the same members of a key that `describeKey` wrote, in the column `key` of `t`. */
export function describeKeyMembers(columns: readonly ClientColumn[]): string {
  return joinMembers(
    columns.map((column, at) => {
      const text = `json_extract_string(t.key, ${quoteLiteral(`$[${at}]`)})`;
      return describeMember(column, `CAST(${text} AS ${column.type})`);
    }),
  );
}

/** SQL for a key as text that is the same for equal keys: a JSON list of the values as text. */
export function describeKey(columns: readonly ClientColumn[]): string {
  const values = columns.map((column) => `CAST(${readValue(column)} AS VARCHAR)`);
  return `CAST(to_json([${values.join(', ')}]) AS VARCHAR)`;
}

/**
 * SQL for a hash of a row's values. A column without a value has no part in it: a new column changes no row. The engine's hash
 * of two things is no more than an XOR with that of the second: without a hash of the result, values of two columns that
 * change places, or that are equal before and after, would cancel each other out.
 */
export function describeHash(columns: readonly ClientColumn[]): string {
  const hashes = columns.map((column) => {
    const value = `t.${quoteColumn(column)}`;
    const words = quoteLiteral(`${column.column ?? column.name} ${column.type}`);
    return `CASE WHEN ${value} IS NULL THEN 0::UBIGINT ELSE hash(hash(${words}, ${value})) END`;
  });
  return pairUp(hashes);
}

/** Nested evenly: the engine's parser has a limit of depth, and tables may have thousands of columns. */
function pairUp(parts: readonly string[]): string {
  const [first = '0::UBIGINT', ...others] = parts;
  if (others.length === 0) return first;
  const half = Math.ceil(parts.length / 2);
  return `xor(${pairUp(parts.slice(0, half))}, ${pairUp(parts.slice(half))})`;
}

function joinMembers(members: readonly string[]): string {
  return members.length === 0 ? `''` : `concat_ws(',', ${members.join(', ')})`;
}

function describeMember(column: ClientColumn, value: string): string {
  const name = quoteLiteral(`${JSON.stringify(column.name)}:`);
  return `${name} || coalesce(${describeValue(column, value)}, 'null')`;
}

function quoteColumn({ name, column = name }: ClientColumn): string {
  return quoteIdentifier(column);
}

/** A row from before the stream had slices has none; a key without a value is not equal to itself elsewhere. */
function readValue(column: ClientColumn): string {
  const value = `t.${quoteColumn(column)}`;
  return column.name === '_slice' ? `coalesce(${value}, '')` : value;
}

function describeValue({ name, type }: ClientColumn, value: string): string {
  switch (type) {
    case 'BOOLEAN':
    case 'BIGINT':
      return `CAST(${value} AS VARCHAR)`;
    case 'DOUBLE':
      // JSON has no word for the others.
      return `CASE WHEN isfinite(${value}) THEN CAST(to_json(${value}) AS VARCHAR) END`;
    case 'DATE':
      return `'"' || CAST(${value} AS VARCHAR) || '"'`;
    case 'TIMESTAMP':
      return `'"' || strftime(${value}, '%Y-%m-%dT%H:%M:%S.%f') || '"'`;
    case 'TIMESTAMPTZ':
      return `'"' || strftime(${value}, '%Y-%m-%dT%H:%M:%S.%fZ') || '"'`;
    case 'JSON':
      // As received, so exact; one line must stay one line.
      return `translate(CAST(${value} AS VARCHAR), chr(10) || chr(13), '  ')`;
    case 'VARCHAR':
      return name === '_slice'
        ? `CAST(to_json(coalesce(${value}, '')) AS VARCHAR)`
        : `CAST(to_json(${value}) AS VARCHAR)`;
    default:
      // Wider than what readers of JSON keep exact: as text.
      return `'"' || CAST(${value} AS VARCHAR) || '"'`;
  }
}
