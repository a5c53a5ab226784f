import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError, PublishError } from '../../../model/errors.ts';
import type { TableCopy } from '../../../model/reports.ts';
import type { Database } from '../../../warehouse/database.ts';
import { ATTACHED } from '../../../warehouse/database-options.ts';
import { readColumns, tableName } from '../../../warehouse/evolve-table.ts';
import { listDerivedViews } from '../../../warehouse/derived-views.ts';
import { quoteIdentifier, quoteLiteral } from '../../../warehouse/identifiers.ts';
import { lakeOf } from '../../../warehouse/query-published.ts';
import type { ExportJob } from '../../exporter.ts';
import { chooseHuge } from '../../stored-values.ts';
import { describeEngineFailure, listStoreAdvice } from '../describe-failure.ts';
import { createStoreSecret, listStoreExtensions, openEngine } from '../open-engine.ts';
import { chooseIcebergType } from './iceberg-types.ts';
import { formatCount, formatCountOf } from '../../../text/format-count.ts';

/** Writes tables as tables of Iceberg without a catalog. See `Exporter`. */
export async function exportIceberg(
  job: ExportJob,
  chooses: (table: string) => boolean,
): Promise<readonly TableCopy[]> {
  const { place, reach } = job;
  const isRemote = isBucket(place);
  const { store, extensions } = reach;
  const lake = lakeOf(job.file);
  const exported: TableCopy[] = [];
  try {
    const access = { mode: 'read', file: job.file, folders: [job.spillFolder] } as const;
    const database = await openEngine(access, {
      extensions,
      needs: ['avro', 'iceberg', ...(isRemote ? listStoreExtensions(store) : [])],
      places: [`${place}/`, ...(lake === undefined ? [] : [lake])],
      attach: async (session) => {
        if (isRemote) await createStoreSecret(session, store);
      },
    });
    try {
      const tables = (await listTables(database)).filter(chooses);
      if (!isRemote) for (const table of tables) refuseOthers(join(place, table));
      for (const table of tables) exported.push(await exportTable(database, table, `${place}/${table}`));
    } finally {
      await database.release();
    }
  } catch (thrown) {
    const secrets = store.keys === undefined ? [] : [store.keys.secret];
    throw describeEngineFailure(
      { path: place, secrets, extensions },
      thrown,
      listStoreAdvice('the place of --iceberg'),
    );
  }
  return exported;
}

/** Whether a place is a bucket, and not a folder of this machine. */
function isBucket(place: string): boolean {
  return /^s3:\/\//i.test(place);
}

async function listTables(database: Database): Promise<readonly string[]> {
  // In the file of a Parquet lake they are views.
  const rows = await database.all(
    `SELECT table_name AS name FROM information_schema.tables
       WHERE table_catalog = ${quoteLiteral(ATTACHED)} AND table_schema = 'main' ORDER BY 1`,
  );
  const views = await listDerivedViews(database, `${quoteIdentifier(ATTACHED)}.`);
  return rows.map(({ name }) => String(name)).filter((name) => !views.has(`main.${name}`));
}

function refuseOthers(folder: string): void {
  if (!existsSync(folder) || existsSync(join(folder, 'metadata', 'version-hint.text'))) return;
  if (readdirSync(folder).length === 0) return;
  throw new ConfigError(`${folder} has other files than those of an export`, {
    code: 'usage_invalid',
    hint: 'Name another folder with --iceberg, or move these files away. Nothing was written.',
    context: { path: folder },
  });
}

async function exportTable(database: Database, table: string, place: string): Promise<TableCopy> {
  const source = tableName(table);
  const columns: string[] = [];
  for (const [name, type] of await readColumns(database, table)) {
    const held =
      type === 'HUGEINT' ? await chooseHuge(database, source, name, undefined) : chooseIcebergType(type);
    const column = quoteIdentifier(name);
    columns.push(held === type ? column : `CAST(${column} AS ${held}) AS ${column}`);
  }
  const rows = `SELECT ${columns.join(', ')} FROM ${source}`;
  await database.run(`COPY (${rows}) TO ${quoteLiteral(place)} (FORMAT iceberg)`);
  const written = await describeRows(database, `(${rows})`);
  const held = await describeRows(database, `iceberg_scan(${quoteLiteral(place)})`);
  if (written.count !== held.count || written.sum !== held.sum)
    throw new PublishError(
      `${place} does not have the rows of ${table} (${formatCountOf(held.count, 'row')} instead of ${formatCount(written.count)})`,
      {
        code: 'publish_failed',
        hint: 'Another program may have written there at the same time. Run again, or name another place with --iceberg. What is published is unchanged.',
        context: { path: place },
      },
    );
  return { table, path: place, rows: written.count };
}

async function describeRows(
  database: Database,
  from: string,
): Promise<{ readonly count: number; readonly sum: string }> {
  const [row] = await database.all(
    `SELECT count(*) AS n, sum(hash("a row"))::VARCHAR AS sum FROM ${from} AS "a row"`,
  );
  return { count: Number(row?.['n']), sum: String(row?.['sum']) };
}
