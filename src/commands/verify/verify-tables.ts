import { listDerivedViews } from '../../warehouse/derived-views.ts';
import { readCheckpoints, readContract } from '../../../state/checkpoints.ts';
import { formatCount, formatCountOf, verbOf } from '../../text/format-count.ts';
import type { CheckItem } from '../../model/reports.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import { type Checkpoint, type LearnedColumn, nameScan } from '../../model/stream.ts';
import type { Database } from '../../warehouse/database.ts';
import { historyOf, readColumns, tableName, toEngineType } from '../../warehouse/evolve-table.ts';
import { NOT_FIRST } from '../../warehouse/first-table.ts';
import { countDuplicates } from '../../warehouse/find-key.ts';
import { countLiveRows, isOfSlice, readScope } from '../../warehouse/live-rows.ts';

// Our own columns, in any table.
const OWN = new Set(['_slice', '_run_id', '_synced_at', '_deleted_at']);

/**
 * Whether a file is consistent: tables match checkpoints, learned columns, keys and recorded counts. `isOfAll`: also of
 * streams that the settings do not have.
 */
export async function verifyTables(
  settings: OfflineSettings,
  database: Database,
  isOfAll: boolean,
): Promise<readonly CheckItem[]> {
  const checkpoints = await readCheckpoints(database);
  const tables = await listTables(database);
  const items: CheckItem[] = [];
  const streams = new Set([
    ...(isOfAll ? checkpoints.map(({ stream }) => stream) : []),
    ...settings.streams.map(({ name }) => name),
  ]);
  for (const name of streams) {
    const held = checkpoints.filter(({ stream }) => stream === name);
    const table = settings.streams.find((stream) => stream.name === name)?.table ?? name;
    const exists = tables.includes(table);
    if (held.length === 0 && !exists) continue;
    items.push(...(await verifyTable(database, { name, table, checkpoints: held, exists })));
  }
  if (!isOfAll) return items;
  const known = new Set([...streams].flatMap((name) => [name, historyOf(name)]));
  for (const table of tables.filter((one) => !known.has(one))) {
    const detail = 'belongs to no stream of the config, and no sync wrote it recently';
    items.push({ name: table, status: 'warning', detail, fix: undefined });
  }
  return items;
}

/** A stream with what is recorded about it. */
interface RecordedStream {
  readonly name: string;
  readonly table: string;
  readonly checkpoints: readonly Checkpoint[];
  /** Whether its table exists. */
  readonly exists: boolean;
}

async function verifyTable(
  database: Database,
  { name, table, checkpoints, exists }: RecordedStream,
): Promise<readonly CheckItem[]> {
  const failed = (detail: string, fix: string): CheckItem => ({ name, status: 'failed', detail, fix });
  const again = `sluice rebuild ${name}, or sluice sync --full-refresh --streams ${name}.`;
  if (!exists)
    return [
      failed(
        'it has a checkpoint and no table',
        `sluice rebuild ${name}. Or move work.duckdb aside and run sluice sync, which restores it from what is published.`,
      ),
    ];
  const problems: CheckItem[] = [];
  const difference = await compareColumns(database, table, await readContract(database, name));
  if (difference !== undefined) problems.push(failed(difference, again));
  for (const checkpoint of checkpoints) {
    const duplicates =
      difference === undefined ? await countRepeated(database, table, checkpoint, checkpoints) : 0;
    if (duplicates > 0)
      problems.push(
        failed(
          `${describeRows(duplicates, checkpoint.slice)} ${verbOf(duplicates, 'repeats', 'repeat')} the key (${checkpoint.keyFields?.join(', ') ?? ''})`,
          again,
        ),
      );
    const miscount = await compareCounts(database, table, checkpoint);
    if (miscount !== undefined) problems.push(failed(miscount, again));
  }
  const rows = await countLiveRows(database, table, '');
  const versions = await countOpenVersions(database, table);
  if (versions !== undefined && versions !== rows) {
    const detail = `its history has ${versions} open versions for ${formatRows(rows)}; while history is on, the next sync corrects it`;
    problems.push({ name, status: 'warning', detail, fix: undefined });
  }
  if (problems.length > 0) return problems;
  if (checkpoints.length === 0) {
    const detail = `${formatRows(rows)} and no checkpoint: the next sync reads it in full`;
    return [{ name, status: 'ok', detail, fix: undefined }];
  }
  const key = checkpoints[0]?.keyFields;
  const unique = key === undefined ? 'no key' : `the key (${key.join(', ')}) is unique`;
  const detail = `${formatRows(rows)}; ${unique}; columns and counts as recorded`;
  return [{ name, status: 'ok', detail, fix: undefined }];
}

/** How a table's columns differ from those that were learned; undefined if they agree. */
async function compareColumns(
  database: Database,
  table: string,
  contract: readonly LearnedColumn[],
): Promise<string | undefined> {
  const columns = await readColumns(database, table);
  const learned = new Map(
    contract.filter(({ type }) => type !== 'NULL').map(({ name, type }) => [name, toEngineType(type)]),
  );
  const missing = [...learned.keys()].filter((name) => !columns.has(name));
  const unknown = [...columns.keys()].filter((name) => !learned.has(name) && !OWN.has(name));
  const other = [...learned].filter(([name, type]) => columns.has(name) && columns.get(name) !== type);
  const parts = [
    missing.length === 0 ? '' : `missing: ${missing.join(', ')}`,
    unknown.length === 0 ? '' : `not learned: ${unknown.join(', ')}`,
    other.length === 0 ? '' : `of a different type than learned: ${other.map(([name]) => name).join(', ')}`,
  ].filter((part) => part !== '');
  return parts.length === 0
    ? undefined
    : `its columns differ from those that were learned: ${parts.join('; ')}`;
}

/** Slices that were read since the whole stream was: each has a key of its own, or none. */
function listLaterSlices(
  { slice, lastFullScanAt = '' }: Checkpoint,
  checkpoints: readonly Checkpoint[],
): readonly string[] {
  if (slice !== '') return [];
  return checkpoints
    .filter((one) => one.slice !== '' && (one.lastFullScanAt ?? '') > lastFullScanAt)
    .map((one) => one.slice);
}

/** Live rows of a checkpoint's slice beyond the first of each key; `all`: the checkpoints of its stream. */
export async function countRepeated(
  database: Database,
  table: string,
  checkpoint: Checkpoint,
  all: readonly Checkpoint[],
): Promise<number> {
  const { slice, keyFields } = checkpoint;
  if (keyFields === undefined) return 0;
  const { placed, live, isSliced } = await readScope(database, table, slice);
  const others = isSliced ? listLaterSlices(checkpoint, all).map((id) => isOfSlice('t', id)) : [];
  const own = slice === '' ? `NOT (${['false', ...others].join(' OR ')})` : placed;
  const rows = `(SELECT * FROM ${tableName(table)} t WHERE ${own} AND ${live})`;
  return countDuplicates(database, rows, isSliced ? [...keyFields, '_slice'] : keyFields);
}

async function countOpenVersions(database: Database, table: string): Promise<number | undefined> {
  const columns = await readColumns(database, historyOf(table));
  if (!columns.has('_valid_to')) return undefined;
  return database.count(`SELECT count(*) FROM ${tableName(historyOf(table))} WHERE _valid_to IS NULL`);
}

/** Whether the rows that name the last run are as many as its record says it wrote. */
async function compareCounts(
  database: Database,
  table: string,
  { stream, slice, runId }: Checkpoint,
): Promise<string | undefined> {
  const [record] = await database.all(
    `SELECT rows_inserted + rows_updated AS written, started_at FROM _sluice.stream_runs
       WHERE run_id = $1 AND stream = $2 AND slice = $3`,
    [runId, stream, slice],
  );
  const written = record?.['written'];
  if (written === null || written === undefined) return undefined;
  // Rows loaded again, by new rules or from quarantine, no longer have that run's count; nor do rows of the whole stream
  // that a slice adopted, or the reverse.
  const later = await database.count(
    `SELECT count(*) FROM _sluice.stream_runs WHERE stream = $1 AND run_id <> $2
       AND started_at >= (SELECT started_at FROM _sluice.stream_runs WHERE run_id = $2 AND stream = $1 AND slice = $3)
       AND status = 'complete'
       AND ((mode IS NULL OR mode NOT IN ('full', 'incremental')) OR (slice = '') <> ($3 = ''))`,
    [stream, runId, slice],
  );
  if (later > 0) return undefined;
  const { own, live } = await readScope(database, table, slice);
  const held = await database.count(
    `SELECT count(*) FROM ${tableName(table)} t WHERE ${own} AND ${live} AND _run_id = $1`,
    [runId],
  );
  if (held === Number(written)) return undefined;
  return `run ${runId} wrote ${describeRows(Number(written), slice)} according to its record, but the table has ${formatCount(held)} of them`;
}

function describeRows(count: number, slice: string): string {
  return `${formatCount(count)} ${nameScan(verbOf(count, 'row', 'rows'), slice)}`;
}

async function listTables(database: Database): Promise<readonly string[]> {
  const rows = await database.all(
    // In the file of a lake they are views.
    `SELECT DISTINCT table_name FROM duckdb_columns() WHERE database_name = current_database() AND schema_name = 'main' AND ${NOT_FIRST} ORDER BY 1`,
  );
  const views = await listDerivedViews(database);
  return rows.map((row) => String(row['table_name'])).filter((name) => !views.has(`main.${name}`));
}

function formatRows(count: number): string {
  return formatCountOf(count, 'row');
}
