import type { SqlSession, SqlValue } from '../src/model/sql.ts';

// Bound values a statement; one statement a row would cost a wide table seconds.
const MOST_VALUES = 1_000;

/** Inserts rows of one shape into a table of ours, many a statement; `casts` has a type for each value. */
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
