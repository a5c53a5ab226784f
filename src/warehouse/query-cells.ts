import type { DuckDBResultReader, DuckDBType, DuckDBValueConverter, Json } from '@duckdb/node-api';
import type { QueryCell, QueryResult } from '../model/reports.ts';

// The library formats times in the machine's zone; results must not depend on the machine.
/** Converts values to the engine's JSON form, with times in UTC and intervals as the engine writes them. */
async function createUtcConverter(): Promise<DuckDBValueConverter<Json>> {
  const { DuckDBIntervalValue, DuckDBTimestampTZValue, DuckDBTimestampValue, JsonDuckDBValueConverter } =
    await import('@duckdb/node-api');
  const convert: DuckDBValueConverter<Json> = (value, type) => {
    if (value instanceof DuckDBTimestampTZValue)
      return `${new DuckDBTimestampValue(value.micros).toString()}+00`;
    // The library gives an object of months, days and microseconds.
    if (value instanceof DuckDBIntervalValue) return value.toString();
    return JsonDuckDBValueConverter(value, type, convert);
  };
  return convert;
}

/** A cell of a result: numbers that a double cannot hold are text; lists and structs become JSON text. */
function toQueryCell(value: Json): QueryCell {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
}

/** A column's SQL type: to the library, JSON is an alias of text. */
function nameType(type: DuckDBType): string {
  return type.alias === 'JSON' ? type.alias : String(type);
}

/** A result as columns and at most `maxRows` rows of cells. */
export async function toQueryResult(reader: DuckDBResultReader, maxRows: number): Promise<QueryResult> {
  const columns = reader.columnNames().map((name, at) => ({ name, type: nameType(reader.columnType(at)) }));
  const rows = reader.convertRows(await createUtcConverter()).slice(0, maxRows);
  return { columns, rows: rows.map((row) => row.map(toQueryCell)) };
}
