import { ConfigError } from '../model/errors.ts';
import type { Database } from './database.ts';

/** Whose statement it is, for messages. */
export interface SelectRefusal {
  /** For example `query over a lake`. */
  readonly what: string;
  /** What to do if a SELECT is not enough. */
  readonly instead: string;
}

/**
 * Functions of the engine that a SELECT may call and that still change something: logs and profiles are written into
 * files, where the engine may access a folder, or to the process's own stdout.
 */
const CHANGING = /"(?:name|Function)": *"(?:(?:EN|DIS)ABLE_\w+|TRUNCATE_\w+|(?:FORCE_)?CHECKPOINT)/;

/**
 * Rejects all statements but a SELECT that only reads. The plan shows which functions are called, also where a text is
 * put together by `query()`; texts of the user are escaped in it.
 *
 * @throws ConfigError `query_failed` (2)
 */
export async function assertSelects(
  database: Database,
  sql: string,
  { onlyReads, what, instead }: SelectRefusal & { readonly onlyReads: boolean },
): Promise<void> {
  const refuse = (problem: string) =>
    new ConfigError(`${what} takes a SELECT, and this ${problem}`, {
      code: 'query_failed',
      hint: `Write it as a SELECT; ${instead}`,
    });
  if (!onlyReads) throw refuse('is another statement');
  // The engine calls these reads, and has no plan for them.
  if (/^pragma\b/i.test(withoutStart(sql))) throw refuse('is a PRAGMA: FROM pragma_table_info(…) is one');
  const [plan] = await database.all(`EXPLAIN (FORMAT json) ${withoutStart(sql)}`);
  if (CHANGING.test(String(Object.values(plan ?? {})[1]))) throw refuse('changes settings of the engine');
}

/** Without the comments and semicolons before a statement. */
function withoutStart(sql: string): string {
  return sql.replace(/^(?:[\s;]|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)+/, '');
}
