import { readCheckpoints, readContract } from '../../../state/checkpoints.ts';
import { ConfigError } from '../../model/errors.ts';
import type { PartitionRule } from '../../model/lake.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import type { Checkpoint } from '../../model/stream.ts';
import type { LakeTable } from './lake-job.ts';
import type { TableManifest } from './manifest.ts';
import { DATED } from '../stored-values.ts';
import { resolvePartitions } from './partitions.ts';
import type { Database } from '../../warehouse/database.ts';
import { historyOf, readColumns } from '../../warehouse/evolve-table.ts';

/**
 * All tables of the work file as published in a lake; throws ConfigError for invalid partitions.
 *
 * @param readHeld reads the tables that the lake has; called where nothing else says how a table is divided
 */
export async function listLakeTables(
  settings: Pick<OfflineSettings, 'streams'>,
  database: Database,
  readHeld: () => readonly HeldTable[] = () => [],
): Promise<readonly LakeTable[]> {
  const rows = await database.all(
    `SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = 'main' ORDER BY 1`,
  );
  const names = rows.map((row) => String(row['table_name']));
  const checkpoints = await readCheckpoints(database);
  const tables: LakeTable[] = [];
  for (const table of names) {
    const base = names.find((name) => historyOf(name) === table) ?? table;
    const own = checkpoints.filter(({ stream }) => stream === base);
    const readBefore = () => readHeld().find((one) => one.table === table);
    tables.push(await describe(settings, database, { table, base, checkpoints: own, readBefore }));
  }
  return tables;
}

/** A table of the work file. */
interface StoredTable {
  readonly table: string;
  /** The stream's table: of a history, the one whose versions it holds. */
  readonly base: string;
  readonly checkpoints: readonly Checkpoint[];
  /** Reads it as the lake has it. */
  readonly readBefore: () => HeldTable | undefined;
}

type HeldTable = Pick<TableManifest, 'table' | 'columns' | 'partitionBy'>;

async function describe(
  settings: Pick<OfflineSettings, 'streams'>,
  database: Database,
  { table, base, checkpoints, readBefore }: StoredTable,
): Promise<LakeTable> {
  const columns = await readColumns(database, table);
  const stream = settings.streams.find((one) => one.table === base);
  const cursor = checkpoints.find(({ cursorField }) => cursorField !== undefined)?.cursorField;
  const given = stream?.partitionBy;
  const choose = () =>
    checkpoints.length === 0 ? asBefore(readBefore(), columns) : byCursor(cursor, columns);
  const rules = given === undefined ? choose() : await nameRules(database, base, given, columns);
  // A column missing from the history is in its table, or was rejected a moment ago.
  const own = table === base ? rules : rules.filter(({ column }) => columns.has(column));
  const key = checkpoints.find(({ keyFields }) => keyFields !== undefined)?.keyFields ?? [];
  const wanted = [...key, ...(cursor === undefined ? [] : [cursor]), '_valid_from'];
  return {
    table,
    stream: base,
    columns,
    partitionBy: resolvePartitions(table, own, columns),
    sortBy: [...new Set(wanted)].filter((name) => columns.has(name)),
    checkpoints: checkpoints.map(({ slice, watermark, lastVerdict, lastVerifiedAt }) => ({
      slice,
      watermark,
      verdict: lastVerdict,
      verifiedAt: lastVerifiedAt,
    })),
  };
}

/** Without a checkpoint, e.g. after a reset, nothing says which cursor divides the table: it stays as it is. */
function asBefore(
  before: HeldTable | undefined,
  columns: ReadonlyMap<string, string>,
): readonly PartitionRule[] {
  const types = new Map(before?.columns.map(({ name, type }) => [name, type]));
  return before?.partitionBy.filter(({ column }) => types.get(column) === columns.get(column)) ?? [];
}

function byCursor(
  cursor: string | undefined,
  columns: ReadonlyMap<string, string>,
): readonly PartitionRule[] {
  if (cursor === undefined || !DATED.includes(columns.get(cursor) ?? '')) return [];
  return [{ column: cursor, transform: 'day' }];
}

/** Columns may be given by the API's field names. */
async function nameRules(
  database: Database,
  stream: string,
  rules: readonly PartitionRule[],
  columns: ReadonlyMap<string, string>,
): Promise<readonly PartitionRule[]> {
  const contract = await readContract(database, stream);
  return rules.map((rule) => {
    if (columns.has(rule.column)) return rule;
    const name = contract.find(({ path }) => path.join('.') === rule.column)?.name;
    if (name !== undefined && !columns.has(name)) {
      throw new ConfigError(`the lake cannot partition ${stream} by ${rule.column}: it never had a value`, {
        code: 'config_invalid',
        hint: `Fix streams.${stream}.partitionBy. The rows are committed, and the lake is unchanged.`,
        context: { stream },
      });
    }
    return name === undefined ? rule : { ...rule, column: name };
  });
}
