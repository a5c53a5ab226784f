import { join } from 'node:path';
import { ConfigError } from '../../model/errors.ts';
import { quoteIdentifier, quoteLiteral } from '../../warehouse/identifiers.ts';
import { generationFolder } from '../../warehouse/lake-entry.ts';
import { chooseHuge } from '../stored-values.ts';
import { findUnchanged } from './changed-file.ts';
import { readCurrent } from './folders.ts';
import { inspectTable } from './inspect-lake.ts';
import type { LakeJob, LakeTable } from './lake-job.ts';
import type { LakeColumn, LakeFile, TableManifest } from './manifest.ts';
import { refuseHiddenColumns } from './path-columns.ts';
import { columnsInFolders, keyExpression, type PartitionKey, partitionFolder } from './partitions.ts';
import { isWholeFile } from './whole-file.ts';

/** The rows of one partition. */
export interface Part {
  readonly key: PartitionKey;
  readonly rows: number;
  readonly fingerprint: string;
  /** Relative to the generation; empty without partitions. */
  readonly folder: string;
}

/** What has to change in the lake to match a table. */
export interface TablePlan {
  readonly table: LakeTable;
  readonly before: TableManifest | undefined;
  /** The generation that readers currently see. */
  readonly current: string | undefined;
  readonly columns: readonly LakeColumn[];
  readonly fieldIds: Readonly<Record<string, number>>;
  /** Files that the next generation shares with the previous one, as they are now. */
  readonly kept: readonly LakeFile[];
  readonly touched: readonly Part[];
  /** False if readers already see everything. */
  readonly isDue: boolean;
}

const MOST_PARTITIONS = 10_000;
const MANY_PARTITIONS = 2_000;

/** Compares a table with its copy in the lake, partition by partition. */
export async function planTable(
  job: LakeJob,
  table: LakeTable,
  before: TableManifest | undefined,
  earlier: TableManifest | undefined = before,
): Promise<TablePlan> {
  const { columns, fieldIds } = await planColumns(job, table, earlier);
  const source = `main.${quoteIdentifier(table.table)}`;
  await refuseHiddenColumns(job.session, job.lake, { table: table.table, columns, source });
  const parts = await readParts(job, table);
  const current = readCurrent(job.lake, table.table);
  const isReshaped =
    before === undefined ||
    JSON.stringify([before.columns, before.partitionBy]) !== JSON.stringify([columns, table.partitionBy]);
  const kept: LakeFile[] = [];
  const touched: Part[] = [];
  const held = new Map((before?.files ?? []).map((file) => [nameKey(file.partition), file]));
  for (const part of parts) {
    const file = isReshaped ? undefined : held.get(nameKey(part.key));
    const shared =
      before !== undefined && file !== undefined && isSame(file, part)
        ? await findShared(job, before, current, file)
        : undefined;
    if (shared !== undefined) kept.push(shared);
    else touched.push(part);
  }
  const isDue =
    touched.length > 0 ||
    kept.length !== held.size ||
    before === undefined ||
    inspectTable(job.lake, before).length > 0;
  return { table, before, current, columns, fieldIds, kept, touched, isDue };
}

function nameKey(key: PartitionKey): string {
  return JSON.stringify(key);
}

function isSame(file: LakeFile, part: Part): boolean {
  return file.rows === part.rows && file.fingerprint === part.fingerprint;
}

/**
 * A file that can be shared with the next generation, as it is now. A file missing from `current` must not come back: a
 * reader that saw neither change could take it for unchanged.
 */
async function findShared(
  { lake }: LakeJob,
  { table, generation }: TableManifest,
  current: string | undefined,
  file: LakeFile,
): Promise<LakeFile | undefined> {
  const has = (one: string) => isWholeFile(join(generationFolder(lake, table, one), file.path), file.bytes);
  const isThere = has(generation) && (current === undefined || current === generation || has(current));
  return isThere ? findUnchanged(generationFolder(lake, table, generation), file) : undefined;
}

/** The columns as stored in files, each with a permanent id. */
async function planColumns(
  { session }: LakeJob,
  { table, columns, partitionBy }: LakeTable,
  before: TableManifest | undefined,
): Promise<{ readonly columns: readonly LakeColumn[]; readonly fieldIds: Readonly<Record<string, number>> }> {
  const inFolders = columnsInFolders(partitionBy);
  const fieldIds: Record<string, number> = { ...before?.fieldIds };
  const planned: LakeColumn[] = [];
  for (const [name, type] of columns) {
    if (inFolders.has(name)) {
      planned.push({ name, type, storedAs: type });
      continue;
    }
    const fieldId = Object.hasOwn(fieldIds, name)
      ? (fieldIds[name] ?? 0)
      : Math.max(0, ...Object.values(fieldIds)) + 1;
    fieldIds[name] = fieldId;
    const heldAs = before?.columns.find((column) => column.name === name && column.type === type)?.storedAs;
    const storedAs =
      type === 'HUGEINT'
        ? await chooseHuge(session, `main.${quoteIdentifier(table)}`, name, heldAs)
        : toStoredType(type);
    planned.push({ name, type, storedAs, fieldId });
  }
  return { columns: planned, fieldIds };
}

// Some readers treat Parquet's JSON type as bytes.
function toStoredType(type: string): string {
  return type === 'JSON' ? 'VARCHAR' : type;
}

/** Checksums over all rows, one per partition. They detect every change of a row, whatever its cause. */
async function readParts(job: LakeJob, { table, partitionBy }: LakeTable): Promise<readonly Part[]> {
  const keys = partitionBy.map(keyExpression);
  const from = `FROM main.${quoteIdentifier(table)} AS "every value"`;
  if (keys.length > 0) await refuseTooMany(job, table, `SELECT DISTINCT ${keys.join(', ')} ${from}`);
  const rows = await job.session.all(
    `SELECT ${[...keys.map((key, at) => `${key} AS _sluice_key${at}`), 'count(*) AS _sluice_rows'].join(', ')},
       coalesce(sum(hash("every value")), 0)::VARCHAR AS _sluice_sum ${from} GROUP BY ALL ORDER BY ALL`,
  );
  const parts = rows.map((row) => {
    const key = keys.map((_, at) => (row[`_sluice_key${at}`] ?? null) as string | null);
    return toPart(key, Number(row['_sluice_rows']), String(row['_sluice_sum']));
  });
  // Most readers fail on a glob without files, so an empty table gets an empty file.
  return parts.length > 0
    ? parts
    : [
        toPart(
          keys.map(() => null),
          0,
          '0',
        ),
      ];

  function toPart(key: PartitionKey, count: number, fingerprint: string): Part {
    return { key, rows: count, fingerprint, folder: partitionFolder(table, partitionBy, key) };
  }
}

async function refuseTooMany(job: LakeJob, table: string, distinct: string): Promise<void> {
  const [row] = await job.session.all(
    `SELECT count(*) AS n FROM (${distinct} LIMIT ${quoteLiteral(String(MOST_PARTITIONS + 1))}::BIGINT)`,
  );
  const count = Number(row?.['n']);
  if (count > MOST_PARTITIONS) {
    throw new ConfigError(`the lake would cut ${table} into more than ${MOST_PARTITIONS} partitions`, {
      code: 'config_invalid',
      hint: `Set streams.${table.replace(/_history$/, '')}.partitionBy to something coarser, e.g. month(date), or to [] for none. The rows are committed, and the lake is unchanged.`,
      context: { stream: table },
    });
  }
  if (count >= MANY_PARTITIONS)
    job.warn(`the lake cuts ${table} into ${count} partitions; fewer are faster to read: see partitionBy`);
}
