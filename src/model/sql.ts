export type SqlValue = string | number | bigint | boolean | null;
export type SqlRow = Readonly<Record<string, unknown>>;

/** The part of a database connection that code outside the warehouse room may use. */
export interface SqlSession {
  run(sql: string, values?: readonly SqlValue[]): Promise<void>;
  /** Rows as JS values: BIGINT as bigint, timestamps as Date, JSON as text. */
  all(sql: string, values?: readonly SqlValue[]): Promise<readonly SqlRow[]>;
}

/** A time as the engine gives it, as ISO text. */
export function toIso(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value);
}
