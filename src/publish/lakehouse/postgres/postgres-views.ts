import type { SqlSession } from '../../../model/sql.ts';
import { createPostgresDialect } from '../../../views/postgres-dialect.ts';
import { quoteLiteral } from '../../../warehouse/identifiers.ts';
import { toLakeSchema } from '../names.ts';
import { MOST_NAME_BYTES } from '../postgres-names.ts';
import type { ViewKeeper } from '../view-keeper.ts';
import { ask, changeTables, locateOnServer } from './server-tables.ts';

/** Views in a database of Postgres. */
export function keepPostgresViews(schema: string): ViewKeeper {
  const locate = (stored: 'main' | '_sluice', name: string) => locateOnServer(schema, `${stored}.${name}`);
  const list: ViewKeeper['list'] = async (session) => {
    const rows = await ask(
      session,
      `SELECT n.nspname::text AS schema, c.relname::text AS name, CASE WHEN c.relkind = 'v' THEN md5(pg_get_viewdef(c.oid)) END AS definition
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname IN (${quoteLiteral(toLakeSchema(schema, 'main'))}, ${quoteLiteral(toLakeSchema(schema, '_sluice'))})`,
    );
    return new Map(
      rows.map((row) => [
        `${row['schema'] === toLakeSchema(schema, 'main') ? 'main' : '_sluice'}.${String(row['name'])}`,
        typeof row['definition'] === 'string' ? row['definition'] : undefined,
      ]),
    );
  };
  return {
    dialect: createPostgresDialect(locate, (name) => Buffer.byteLength(name) <= MOST_NAME_BYTES),
    list,
    async create(session, { schema: stored, name, select }) {
      await tryChange(session, `CREATE VIEW ${locate(stored, name)} AS ${select}`);
      return (await list(session)).has(`${stored}.${name}`);
    },
    drop: (session, { schema: stored, name }) => tryChange(session, `DROP VIEW ${locate(stored, name)}`),
  };
}

/** An error would end the transaction, and the publish with it: on the server, it ends a part of it. */
async function tryChange(session: SqlSession, statement: string): Promise<void> {
  const block = `BEGIN EXECUTE ${quoteLiteral(statement)}; EXCEPTION WHEN OTHERS THEN NULL; END`;
  await changeTables(session, `DO ${quoteLiteral(block)}`);
}
