import type { DuckDBType, DuckDBValueConverter, Json } from '@duckdb/node-api';
import type { QueryCell } from '../model/reports.ts';

// The library writes times with a zone in the machine's own; a result must not depend on the machine.
/** Reads values in the engine's JSON form, times in UTC and intervals as the engine writes them. */
export async function createUtcConverter(): Promise<DuckDBValueConverter<Json>> {
  const { DuckDBIntervalValue, DuckDBTimestampTZValue, DuckDBTimestampValue, JsonDuckDBValueConverter } =
    await import('@duckdb/node-api');
  const convert: DuckDBValueConverter<Json> = (value, type) => {
    if (value instanceof DuckDBTimestampTZValue)
      return `${new DuckDBTimestampValue(value.micros).toString()}+00`;
    // The library has an object of months, days and microseconds there.
    if (value instanceof DuckDBIntervalValue) return value.toString();
    return JsonDuckDBValueConverter(value, type, convert);
  };
  return convert;
}

/** A cell of a result: that form has text for what a double cannot hold; lists and structs become JSON text. */
export function toQueryCell(value: Json): QueryCell {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
}

/** A column's type as SQL has it: to the library, JSON is a text with another name. */
export function nameType(type: DuckDBType): string {
  return type.alias === 'JSON' ? type.alias : String(type);
}
