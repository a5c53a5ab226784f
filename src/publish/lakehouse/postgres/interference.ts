import type { SqlSession } from '../../../model/sql.ts';
import { quoteLiteral } from '../../../warehouse/identifiers.ts';
import { listLakeSchemas } from '../names.ts';
import { ask, execute } from './server-tables.ts';

/**
 * What may change or hold back rows of our tables while they are written: triggers, rules and forced policies of rows, by the
 * table's name in the work file. Triggers that would wait for the end of the transaction are told not to.
 */
export async function findInterference(
  session: SqlSession,
  schema: string,
): Promise<ReadonlyMap<string, string>> {
  const stored = listLakeSchemas(schema);
  const rows = await ask(
    session,
    `SELECT n.nspname::text AS schema, c.relname::text AS name, string_agg(i.what, ' and ' ORDER BY i.what) AS what
       FROM (SELECT tgrelid AS id, 'the trigger ' || quote_ident(tgname) AS what FROM pg_trigger
           WHERE NOT tgisinternal AND tgenabled IN ('O', 'A')
         UNION ALL SELECT ev_class, 'the rule ' || quote_ident(rulename) FROM pg_rewrite
           WHERE rulename <> '_RETURN' AND ev_enabled IN ('O', 'A')
         UNION ALL SELECT oid, 'forced row-level security' FROM pg_class WHERE relrowsecurity AND relforcerowsecurity) AS i
       JOIN pg_class c ON c.oid = i.id JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE c.relkind = 'r' AND n.nspname IN (${[...stored.keys()].map(quoteLiteral).join(', ')})
       GROUP BY 1, 2`,
  );
  if (rows.length > 0) await execute(session, 'SET CONSTRAINTS ALL IMMEDIATE');
  return new Map(
    rows.map((row) => [`${stored.get(String(row['schema']))}.${String(row['name'])}`, String(row['what'])]),
  );
}
