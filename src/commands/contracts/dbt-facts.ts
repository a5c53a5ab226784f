import { readCheckpoints, readContract } from '../../../state/checkpoints.ts';
import type { ExportedTable } from '../../contract/exported-table.ts';
import { isNeverNull } from '../../contract/never-null.ts';
import type { DbtTable } from '../../contract/to-dbt.ts';
import { storedNames } from '../../load/key-columns.ts';
import { HOUR_MS } from '../../model/dates.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import type { Checkpoint, LearnedColumn, Stream } from '../../model/stream.ts';
import { companionSource, toFieldName } from '../../schema/field-paths.ts';
import { namesField } from '../../schema/field-rules.ts';
import { countFilled } from '../../warehouse/column-facts.ts';
import type { Database } from '../../warehouse/database.ts';
import { listScansOf } from '../../warehouse/held-tables.ts';

// The report calls a stream late after the same time.
const LEAST_LATENESS_HOURS = 36;

/** What is known of a table of one account, wherever dbt reads it. */
export interface DbtFacts extends Omit<DbtTable, 'loadedAt' | 'location'> {
  /** Ids of the slices that the config asks for; one that is empty without slices. */
  readonly slices: readonly string[];
}

/** Finds what dbt is told of published tables: from the config, the checkpoints and the learned columns. */
export async function findDbtFacts(
  database: Database,
  { streams }: Pick<OfflineSettings, 'streams'>,
  tables: readonly ExportedTable[],
): Promise<readonly DbtFacts[]> {
  const checkpoints = await readCheckpoints(database);
  const facts: DbtFacts[] = [];
  for (const table of tables) {
    const stream = streams.find((one) => one.name === table.stream);
    const own = checkpoints.filter((checkpoint) => checkpoint.stream === table.stream);
    facts.push({
      ...table,
      uniqueBy: await findUnique(database, table, own),
      neverNull: stream === undefined ? new Set() : await findNeverNull(database, stream),
      lateAfterHours: findLateness(stream),
      slices: stream === undefined || stream.slices.length === 0 ? [''] : stream.slices.map(({ id }) => id),
    });
  }
  return facts;
}

/** What `sluice verify` holds unique as well: the key, in each slice. */
async function findUnique(
  database: Database,
  { table, columns }: ExportedTable,
  checkpoints: readonly Checkpoint[],
): Promise<DbtTable['uniqueBy']> {
  const names = new Set(checkpoints.flatMap(({ keyFields }) => keyFields ?? []));
  const isHeld = (name: string) => columns.some((column) => column.name === name);
  if (names.size === 0 || ![...names].every(isHeld)) return undefined;
  if (await hasRowsWithoutKey(database, table, checkpoints)) return undefined;
  return [...names, ...(isHeld('_slice') ? ['_slice'] : [])];
}

/** A slice without rows has no key yet, and nothing that could be there twice. */
async function hasRowsWithoutKey(
  database: Database,
  table: string,
  checkpoints: readonly Checkpoint[],
): Promise<boolean> {
  const keyless = checkpoints.filter(({ keyFields }) => keyFields === undefined);
  if (keyless.length === 0) return false;
  const held = await listScansOf(database, table);
  return keyless.some(({ slice }) => held.some((scan) => scan.slice === slice));
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
  return withoutNulls(database, stream.table, storedNames(found));
}

/** A row that the API no longer has may be older than the contract file, and have a null where that allows none. */
async function withoutNulls(
  database: Database,
  table: string,
  names: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows, filled } = await countFilled(database, table, names);
  return new Set(names.filter((name) => filled.get(name) === rows));
}

function findLateness(stream: Stream | undefined): number {
  return Math.max(LEAST_LATENESS_HOURS, Math.ceil(((stream?.freshnessMs ?? 0) * 1.5) / HOUR_MS));
}
