import { existsSync } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';
import { quoteLiteral } from '../../src/warehouse/identifiers.ts';
import { openLakeReader } from '../support/ducklake-reader.ts';
import type { ObjectStore } from '../support/lake-servers.ts';

/** Where the tables of an account are published. */
export type TablePlace =
  | { readonly kind: 'duckdb'; readonly file: string }
  | { readonly kind: 'parquet'; readonly folder: string }
  | {
      readonly kind: 'ducklake';
      readonly source: string;
      readonly schema: string;
      readonly store: ObjectStore;
    };

const TABLES = [
  'visibility_mentions',
  'prompts_analytics',
  'commerce_category_products',
  'commerce_top_products',
] as const;
type Ask = (sql: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;

/** A fingerprint of the values of each table, sorted; `missing` where it is not there. */
export async function fingerprint(place: TablePlace): Promise<Readonly<Record<string, string>>> {
  switch (place.kind) {
    case 'duckdb': {
      if (!existsSync(place.file)) return {};
      return withEngine(`ATTACH ${quoteLiteral(place.file)} AS held (READ_ONLY)`, (ask) =>
        readAll(ask, (table) => `held.${table}`),
      );
    }
    case 'parquet':
      return withEngine('SELECT 1', (ask) =>
        readAll(
          ask,
          (table) => `read_parquet(${quoteLiteral(`${place.folder}/${table}/current/**/*.parquet`)})`,
        ),
      );
    case 'ducklake': {
      const reader = await openLakeReader(place.source, 'READ_ONLY', place.store);
      try {
        return await readAll(
          (sql) => reader.rows(sql),
          (table) => `lake."${place.schema}".${table}`,
        );
      } finally {
        reader.close();
      }
    }
  }
}

async function readAll(ask: Ask, name: (table: string) => string): Promise<Readonly<Record<string, string>>> {
  const prints: [string, string][] = [];
  for (const table of TABLES) {
    const columns = 'id, date::VARCHAR AS date, owner, amount, score, note';
    const sql = `SELECT count(*) || ':' || md5(coalesce(string_agg(t::VARCHAR, chr(10) ORDER BY t::VARCHAR), '')) AS print,
      string_agg(DISTINCT t.owner) AS owners FROM (SELECT ${columns} FROM ${name(table)}) AS t`;
    const [row] = await ask(sql).catch((thrown: unknown) => [{ print: 'missing', owners: String(thrown) }]);
    prints.push([table, `${String(row?.['print'])} ${String(row?.['owners'])}`]);
  }
  return Object.fromEntries(prints);
}

async function withEngine<T>(first: string, work: (ask: Ask) => Promise<T>): Promise<T> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  try {
    await connection.run(first);
    return await work(async (sql) => (await connection.runAndReadAll(sql)).getRowObjectsJS());
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
