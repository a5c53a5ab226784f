import { join } from 'node:path';
import { HOUR_MS } from '../../model/dates.ts';
import { readCheckpoints, readContract } from '../../../state/checkpoints.ts';
import type { ExportedTable } from '../../contract/exported-table.ts';
import { isNeverNull } from '../../contract/never-null.ts';
import { type DbtTable, toDbtSources } from '../../contract/to-dbt.ts';
import { LAKE_MANIFEST } from '../../model/lake.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import type { Checkpoint, LearnedColumn, Stream } from '../../model/stream.ts';
import { companionSource, toFieldName } from '../../schema/field-paths.ts';
import { namesField } from '../../schema/field-rules.ts';
import type { Database } from '../../warehouse/database.ts';
import { quoteIdentifier, quoteLiteral } from '../../warehouse/identifiers.ts';
import { type CatalogTable, readLakeEntry } from '../../warehouse/lake-entry.ts';
import { selectCurrent } from '../../warehouse/select-lake.ts';
import { lakeOf, nameDatabase } from '../../warehouse/query-published.ts';

// The report calls a stream late after the same time.
const LEAST_LATENESS_HOURS = 36;

/** A dbt `sources.yml` of published tables: those of the DuckDB file, or the lake's if there is only a lake. */
export async function writeDbtSources(
  database: Database,
  settings: OfflineSettings,
  tables: readonly ExportedTable[],
): Promise<string> {
  const { readersFile, streams } = settings;
  const lake = lakeOf(readersFile);
  const checkpoints = await readCheckpoints(database);
  const held = lake === undefined ? [] : await readLakeEntry(database);
  const name = nameDatabase(readersFile) ?? 'memory';
  const described: DbtTable[] = [];
  for (const table of tables) {
    const stream = streams.find((one) => one.name === table.stream);
    const own = checkpoints.filter((checkpoint) => checkpoint.stream === table.stream);
    const slices =
      stream === undefined || stream.slices.length === 0 ? [''] : stream.slices.map(({ id }) => id);
    const entry = held.find((one) => one.table === table.table);
    described.push({
      ...table,
      uniqueBy: findUnique(table, own),
      neverNull: stream === undefined ? new Set() : await findNeverNull(database, stream),
      lateAfterHours: findLateness(stream),
      loadedAt: selectVerified(
        lake === undefined ? fromCheckpoints(name, table.stream) : fromManifest(lake, table.table),
        slices,
      ),
      location: lake === undefined || entry === undefined ? undefined : readFrom(lake, entry),
    });
  }
  return toDbtSources(described, lake === undefined ? name : undefined);
}

/** What `sluice verify` holds unique as well: the key, in each slice. */
function findUnique({ columns }: ExportedTable, checkpoints: readonly Checkpoint[]): DbtTable['uniqueBy'] {
  const keys = checkpoints.map(({ keyFields }) => keyFields);
  const names = new Set(keys.flatMap((key) => key ?? []));
  const isHeld = (name: string) => columns.some((column) => column.name === name);
  if (names.size === 0 || keys.includes(undefined) || ![...names].every(isHeld)) return undefined;
  return [...names, ...(isHeld('_slice') ? ['_slice'] : [])];
}

/** Columns whose field has a value in every record by the contract file, and has all of its values in the column. */
async function findNeverNull(database: Database, stream: Stream): Promise<ReadonlySet<string>> {
  const { schema } = stream.contract;
  if (schema === undefined) return new Set();
  const columns = await readContract(database, stream.name);
  const beside = new Set(
    columns.flatMap(({ path }) => companionSource(path)?.map(toFieldName).join('\0') ?? []),
  );
  const hashed = Object.entries(stream.columns).flatMap(([field, { kind }]) =>
    kind === 'hash' ? [field] : [],
  );
  const isPlain = ({ name, path }: LearnedColumn, field: readonly string[]) =>
    companionSource(path) === undefined &&
    !beside.has(field.join('\0')) &&
    // A contract does not judge the values of masked fields.
    !hashed.some((one) => one === name || namesField(one, field));
  const found = columns.filter((column) => {
    const field = column.path.map(toFieldName);
    return isPlain(column, field) && isNeverNull(schema.json, field);
  });
  return new Set(found.map(({ name }) => name));
}

function findLateness(stream: Stream | undefined): number {
  return Math.max(LEAST_LATENESS_HOURS, Math.ceil(((stream?.freshnessMs ?? 0) * 1.5) / HOUR_MS));
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
