import { AbortedError } from '../../../model/errors.ts';
import { createEngineDialect } from '../../../views/engine-dialect.ts';
import { quoteLiteral } from '../../../warehouse/identifiers.ts';
import { LAKE, type LakePlace, listLakeSchemas, nameInLake } from '../names.ts';
import type { ViewKeeper } from '../view-keeper.ts';

/** Views of a DuckLake, in SQL of the engine. It writes its own name for the lake in place of the reader's. */
export function keepDuckLakeViews(place: LakePlace): ViewKeeper {
  const locate = (schema: 'main' | '_sluice', name: string) => nameInLake(place, schema, name);
  return {
    dialect: createEngineDialect(locate),
    async list(session) {
      const found = new Map<string, string | undefined>();
      const stored = listLakeSchemas(place.schema);
      const where = `database_name = ${quoteLiteral(LAKE)} AND schema_name IN ($1, $2)`;
      const rows = await session.all(
        // By their columns: see `listTaken`. Those of views are listed first, and their SQL then.
        `SELECT DISTINCT schema_name AS schema, table_name AS name, NULL AS sql FROM duckdb_columns() WHERE ${where}
           UNION ALL SELECT schema_name, view_name, sql FROM duckdb_views() WHERE ${where} AND NOT internal ORDER BY sql NULLS FIRST`,
        [...stored.keys()],
      );
      for (const { schema, name, sql } of rows)
        found.set(
          `${stored.get(String(schema)) ?? 'main'}.${String(name)}`,
          typeof sql === 'string' ? sql : undefined,
        );
      return found;
    },
    async create(session, { schema, name, select }) {
      try {
        await session.run(`CREATE VIEW ${locate(schema, name)} AS ${select}`);
        return true;
      } catch (thrown) {
        if (thrown instanceof AbortedError) throw thrown;
        return false;
      }
    },
    drop: (session, { schema, name }) => session.run(`DROP VIEW ${locate(schema, name)}`),
  };
}
