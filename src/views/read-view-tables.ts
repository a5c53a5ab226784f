import { z } from 'zod';
import type { SqlSession } from '../model/sql.ts';
import { unpackElementFields } from '../schema/element-fields.ts';
import { quoteIdentifier, quoteLiteral } from '../warehouse/identifiers.ts';
import { listDerivedViews } from '../warehouse/derived-views.ts';
import type { ViewTable } from './view.ts';

const namesSchema = z.array(z.string());

/** Where to read. */
export interface ReadOptions {
  /** The tables have a column for the account. */
  readonly isJoint?: boolean;
  /** Alias of the database; the current one if undefined. */
  readonly database?: string;
}

/** Reads the tables of a database that views are made of, and what the state knows of them. */
export async function readViewTables(
  session: SqlSession,
  { isJoint = false, database }: ReadOptions = {},
): Promise<readonly ViewTable[]> {
  const prefix = database === undefined ? '' : `${quoteIdentifier(database)}.`;
  const rows = await session.all(
    `SELECT schema_name AS schema, table_name AS "table", list([column_name, data_type] ORDER BY column_index)::JSON::VARCHAR AS columns
       FROM duckdb_columns() WHERE database_name = ${database === undefined ? 'current_database()' : quoteLiteral(database)} AND schema_name IN ('main', '_sluice') AND NOT internal
       GROUP BY ALL ORDER BY ALL`,
  );
  const derived = isJoint ? new Set<string>() : await listDerivedViews(session, prefix);
  const all = new Map(
    rows
      .map(({ schema, table, columns }) => [`${String(schema)}.${String(table)}`, String(columns)] as const)
      .filter(([name]) => !derived.has(name)),
  );
  const known = await readKnown(session, prefix, all.has('_sluice.elements'));
  const tables = [...all].flatMap(([name, columns]): [string, ReadonlyMap<string, string>][] =>
    name.startsWith('main.')
      ? [
          [
            name.slice('main.'.length),
            new Map(z.array(z.tuple([z.string(), z.string()])).parse(JSON.parse(columns))),
          ],
        ]
      : [],
  );
  const histories = new Set(
    tables.flatMap(([name, columns]) =>
      columns.has('_valid_from') && columns.has('_valid_to') ? [name] : [],
    ),
  );
  return tables
    .filter(([name]) => !histories.has(name))
    .map(([name, columns]) => ({
      name,
      columns,
      key: known.keys.get(name) ?? [],
      cursor: known.cursors.get(name),
      hasHistory: histories.has(`${name}_history`),
      elements: known.elements.get(name) ?? new Map<string, never>(),
      // It is the first column of a joined table.
      account: isJoint ? [...columns.keys()][0] : undefined,
    }));
}

async function readKnown(session: SqlSession, prefix: string, hasElements: boolean) {
  const checkpoints = await session.all(
    `SELECT stream, key_fields, cursor_field FROM ${prefix}_sluice.checkpoints ORDER BY ALL`,
  );
  const keys = new Map<string, readonly string[]>();
  const cursors = new Map<string, string>();
  for (const { stream, key_fields: key, cursor_field: cursor } of checkpoints) {
    // Slices share the key of their stream; one that was not read yet has none.
    if (typeof key === 'string' && !keys.has(String(stream)))
      keys.set(String(stream), namesSchema.parse(JSON.parse(key)));
    if (typeof cursor === 'string') cursors.set(String(stream), cursor);
  }
  const rows = hasElements
    ? await session.all(
        `SELECT stream, column_name, list(fields)::JSON::VARCHAR AS texts FROM ${prefix}_sluice.elements GROUP BY ALL ORDER BY ALL`,
      )
    : [];
  const elements = new Map<string, Map<string, ReturnType<typeof unpackElementFields>>>();
  for (const { stream, column_name: column, texts } of rows) {
    const columns = elements.get(String(stream)) ?? new Map<string, ReturnType<typeof unpackElementFields>>();
    columns.set(String(column), unpackElementFields(namesSchema.parse(JSON.parse(String(texts)))));
    elements.set(String(stream), columns);
  }
  return { keys, cursors, elements };
}
