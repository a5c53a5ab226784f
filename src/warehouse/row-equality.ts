import type { Database } from './database.ts';
import { quoteIdentifier } from './identifiers.ts';

// The engine narrows a scan by a few columns; asking about all of a wide table's would cost more than it saves.
const MOST_ASKED = 64;

/**
 * The condition under which a row `s` of the source equals a row `t` in the columns, NULLs alike. Where the
 * source has no NULL it says `=`: by that the engine skips what cannot match of a large table (measured: 2 ms
 * instead of 30 for 1,000 rows against a million).
 */
export async function matchColumns(
  database: Database,
  source: string,
  columns: readonly string[],
): Promise<string> {
  if (columns.length === 0) return 'true';
  const asked = columns.slice(0, MOST_ASKED);
  const counts = asked.map((name, at) => `count(*) - count(${quoteIdentifier(name)}) AS n${at}`);
  const [row = {}] = await database.all(`SELECT ${counts.join(', ')} FROM ${source}`);
  return columns
    .map((name, at) => {
      const operator = Number(row[`n${at}`] ?? 1) === 0 ? '=' : 'IS NOT DISTINCT FROM';
      return `s.${quoteIdentifier(name)} ${operator} t.${quoteIdentifier(name)}`;
    })
    .join(' AND ');
}
