import { join } from 'node:path';
import type { ExportedTable } from '../../contract/exported-table.ts';
import { toDbtSources } from '../../contract/to-dbt.ts';
import { LAKE_MANIFEST } from '../../model/lake.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import type { Database } from '../../warehouse/database.ts';
import { quoteIdentifier, quoteLiteral } from '../../warehouse/identifiers.ts';
import { type CatalogTable, readLakeEntry } from '../../warehouse/lake-entry.ts';
import { selectCurrent } from '../../warehouse/select-lake.ts';
import { lakeOf, nameDatabase } from '../../warehouse/query-published.ts';
import { findDbtFacts } from './dbt-facts.ts';

/** A dbt `sources.yml` of published tables: those of the DuckDB file, or the lake's if there is only a lake. */
export async function writeDbtSources(
  database: Database,
  settings: OfflineSettings,
  tables: readonly ExportedTable[],
): Promise<string> {
  const { readersFile } = settings;
  const lake = lakeOf(readersFile);
  const held = lake === undefined ? [] : await readLakeEntry(database);
  const name = nameDatabase(readersFile) ?? 'memory';
  const facts = await findDbtFacts(database, settings, tables);
  const described = facts.map(({ slices, ...table }) => {
    const entry = held.find((one) => one.table === table.table);
    return {
      ...table,
      loadedAt: selectVerified(
        lake === undefined ? fromCheckpoints(name, table.stream) : fromManifest(lake, table.table),
        slices,
      ),
      location: lake === undefined || entry === undefined ? undefined : readFrom(lake, entry),
    };
  });
  return toDbtSources(described, lake === undefined ? name : undefined);
}

function fromCheckpoints(database: string, stream: string): string {
  return `${quoteIdentifier(database)}._sluice.checkpoints where stream = ${quoteLiteral(stream)}`;
}

function fromManifest(lake: string, table: string): string {
  const manifest = quoteLiteral(join(lake, LAKE_MANIFEST));
  const tables = `(select unnest(json_extract(content, '$.tables[*]')) as t from read_text(${manifest}))`;
  const checkpoints = `(select t, unnest(json_extract(t, '$.checkpoints[*]')) as c from ${tables})`;
  return (
    `(select t->>'$.table' as name, c->>'$.slice' as slice, ` +
    `(c->>'$.verifiedAt')::timestamptz as last_verified_at from ${checkpoints}) where name = ${quoteLiteral(table)}`
  );
}

/** When the stream was last verified, or the oldest of its slices; NULL if one never was. */
function selectVerified(checkpoints: string, slices: readonly string[]): string {
  const [only] = slices;
  if (only !== undefined && slices.length === 1)
    return `select max(last_verified_at) from ${checkpoints} and slice = ${quoteLiteral(only)}`;
  return (
    `select case when count(last_verified_at) = ${slices.length} then min(last_verified_at) end ` +
    `from ${checkpoints} and slice in (${slices.map(quoteLiteral).join(', ')})`
  );
}

function readFrom(lake: string, table: CatalogTable): string {
  return `(${selectCurrent(lake, table)})`;
}
