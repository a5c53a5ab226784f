import type { SqlSession, SqlValue } from '../src/model/sql.ts';

// Bound values per statement; one statement per row would take seconds for a wide table.
const MOST_VALUES = 1_000;

/** Inserts rows into one of our tables, many rows per statement; `casts` has a type for each value. */
export async function insertRows(
  session: SqlSession,
  table: string,
  casts: readonly string[],
  rows: readonly (readonly SqlValue[])[],
): Promise<void> {
  const perStatement = Math.max(1, Math.floor(MOST_VALUES / casts.length));
  for (let at = 0; at < rows.length; at += perStatement) {
    const batch = rows.slice(at, at + perStatement);
    const tuples = batch.map(
      (_, row) => `(${casts.map((type, cell) => `$${row * casts.length + cell + 1}::${type}`).join(', ')})`,
    );
    await session.run(`INSERT INTO ${table} VALUES ${tuples.join(', ')}`, batch.flat());
  }
}
