import type { DuckDBDataChunk, DuckDBResult, DuckDBType, DuckDBValueConverter, Json } from '@duckdb/node-api';
import type { QueryCell, QueryResult } from '../model/reports.ts';

// The library formats times in the machine's zone; results must not depend on the machine.
/** Converts values to the engine's JSON form, with times in UTC and intervals as the engine writes them. */
async function createUtcConverter(): Promise<DuckDBValueConverter<Json>> {
  const { DuckDBIntervalValue, DuckDBTimestampTZValue, DuckDBTimestampValue, JsonDuckDBValueConverter } =
    await import('@duckdb/node-api');
  const convert: DuckDBValueConverter<Json> = (value, type) => {
    if (isMoment(value) && !value.isFinite) return writeEndless(value);
    if (value instanceof DuckDBTimestampTZValue)
      return `${withFirstYear(new DuckDBTimestampValue(value.micros).toString())}+00`;
    if (isMoment(value)) return withFirstYear(value.toString());
    // The library gives an object of months, days and microseconds.
    if (value instanceof DuckDBIntervalValue) return value.toString();
    return JsonDuckDBValueConverter(value, type, convert);
  };
  return convert;
}

/** A date or a timestamp of any precision, as the library gives it. */
interface Moment {
  readonly isFinite: boolean;
  toString(): string;
}

function isMoment(value: unknown): value is Moment {
  return typeof value === 'object' && value !== null && 'isFinite' in value;
}

// To the library it is the largest count of days or of fractions of a second, in most types.
function writeEndless(value: Moment): string {
  return Object.values(value).some((count) => Number(count) < 0) ? '-infinity' : 'infinity';
}

// The library calls the year before the first one 0.
function withFirstYear(text: string): string {
  return text.replace(/^0000(-\d\d-\d\d)/, '0001$1 (BC)');
}

/** A cell of a result: numbers that a double cannot hold are text; lists and structs become JSON text. */
function toQueryCell(value: Json): QueryCell {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
}

/** A column's SQL type: to the library, JSON is an alias of text. */
function nameType(type: DuckDBType): string {
  return type.alias === 'JSON' ? type.alias : String(type);
}

/** Columns of a result, and what reads the rows of its chunks as JSON-safe scalars. */
export async function createRowReader(result: DuckDBResult) {
  const columns = result.columnNames().map((name, at) => ({ name, type: nameType(result.columnType(at)) }));
  const convert = await createUtcConverter();
  const readRows = (chunk: DuckDBDataChunk): QueryResult['rows'] =>
    chunk.convertRows(convert).map((row) => row.map(toQueryCell));
  return { columns, readRows };
}
