import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { makeFolders } from '../../files/make-folders.ts';
import { syncFile } from '../../files/sync-to-disk.ts';
import { PublishError } from '../../model/errors.ts';
import { formatCount, formatCountOf, verbOf } from '../../text/format-count.ts';
import type { SqlRow } from '../../model/sql.ts';
import { checksumFile } from '../../warehouse/fingerprint-file.ts';
import { quoteIdentifier, quoteLiteral } from '../../warehouse/identifiers.ts';
import { buildFolder, forEach } from './folders.ts';
import type { LakeJob } from './lake-job.ts';
import type { LakeColumn, LakeFile } from './manifest.ts';
import { isInPartition, keyExpression } from './partitions.ts';
import type { Part, TablePlan } from './plan-table.ts';

/** Rows sorted at once: they fit into the engine's initial memory. */
const BATCH_ROWS = 500_000;
const BATCH = 'temp."~lake_batch"';
/** Longest text that the manifest keeps as a range. */
const RANGE_LENGTH = 64;

/** Writes a file for every changed partition into the new generation. */
export async function writeFiles(
  job: LakeJob,
  plan: TablePlan,
  generation: string,
): Promise<readonly LakeFile[]> {
  const files: LakeFile[] = [];
  const source = `main.${quoteIdentifier(plan.table.table)}`;
  for (const batch of cutBatches(plan.touched)) {
    const [only] = batch;
    if (only !== undefined && batch.length === 1) {
      const where = isInPartition(plan.table.partitionBy, only.key);
      files.push(await writePart(job, plan, generation, { part: only, source, where }));
      continue;
    }
    await makeBatch(job, plan, batch, source);
    for (const part of batch) {
      const keys = part.key.map((value, at) =>
        value === null ? `_sluice_key${at} IS NULL` : `_sluice_key${at} = ${quoteLiteral(value)}`,
      );
      const where = keys.join(' AND ');
      files.push(await writePart(job, plan, generation, { part, source: BATCH, where }));
    }
    await job.session.run(`DROP TABLE ${BATCH}`);
  }
  const folder = buildFolder(job.lake, plan.table.table, generation);
  await forEach(files, ({ path }) => syncFile(join(folder, path)));
  return files;
}

function cutBatches(parts: readonly Part[]): readonly (readonly Part[])[] {
  const batches: Part[][] = [];
  let rows = Infinity;
  for (const part of parts) {
    if (rows + part.rows > BATCH_ROWS) {
      batches.push([]);
      rows = 0;
    }
    batches.at(-1)?.push(part);
    rows += part.rows;
  }
  return batches;
}

/** Collects the rows of several partitions, so that each is found without another scan of the whole table. */
async function makeBatch(
  { session }: LakeJob,
  { table }: TablePlan,
  batch: readonly Part[],
  source: string,
): Promise<void> {
  const keys = table.partitionBy.map((partition, at) => `${keyExpression(partition)} AS _sluice_key${at}`);
  const wanted = batch.map(
    ({ key }) => `(${key.map((value) => (value === null ? 'NULL' : quoteLiteral(value))).join(', ')})`,
  );
  const names = table.partitionBy.map((_, at) => `_sluice_want${at}`);
  const match = names.map((name, at) => `t._sluice_key${at} IS NOT DISTINCT FROM CAST(w.${name} AS VARCHAR)`);
  await session.run(
    `CREATE OR REPLACE TEMP TABLE "~lake_batch" AS SELECT t.* FROM (SELECT *, ${keys.join(', ')} FROM ${source}) t
       SEMI JOIN (VALUES ${wanted.join(', ')}) w(${names.join(', ')}) ON ${match.join(' AND ')}
       ORDER BY ${names.map((_, at) => `t._sluice_key${at}`).join(', ')}`,
  );
}

/** A partition, and where its rows are. */
interface PartRows {
  readonly part: Part;
  /** SQL for what they are read from. */
  readonly source: string;
  /** Condition that holds for them only. */
  readonly where: string;
}

async function writePart(
  job: LakeJob,
  plan: TablePlan,
  generation: string,
  { part, source, where }: PartRows,
): Promise<LakeFile> {
  const path = [...(part.folder === '' ? [] : [part.folder]), `${randomUUID()}.parquet`].join('/');
  const file = join(buildFolder(job.lake, plan.table.table, generation), path);
  makeFolders(join(file, '..'));
  const stored = plan.columns.filter(({ fieldId }) => fieldId !== undefined);
  const sortBy = plan.table.sortBy.filter((name) => stored.some((column) => column.name === name));
  const order =
    sortBy.length === 0 ? '' : ` ORDER BY ${sortBy.map((name) => `t.${quoteIdentifier(name)}`).join(', ')}`;
  const options = [
    'FORMAT parquet',
    'COMPRESSION zstd',
    `FIELD_IDS {${stored.map(({ name, fieldId }) => `${quoteIdentifier(name)}: ${fieldId ?? 0}`).join(', ')}}`,
    `KV_METADATA {run_id: ${quoteLiteral(job.runId)}, stream: ${quoteLiteral(plan.table.stream)}}`,
    'RETURN_STATS',
  ];
  const from = `FROM ${source} AS t WHERE ${where}${order}`;
  const [written = {}] = await job.session.all(
    `COPY (SELECT ${stored.map(toStored).join(', ')} ${from}) TO ${quoteLiteral(file)} (${options.join(', ')})`,
  );
  const rowsWritten = Number(written['count']);
  if (rowsWritten !== part.rows) {
    throw new PublishError(
      `${plan.table.table} has ${formatCountOf(part.rows, 'row')} for ${part.folder === '' ? 'its file' : part.folder}, of which ${formatCount(rowsWritten)} ${verbOf(rowsWritten, 'was', 'were')} written`,
      {
        code: 'publish_failed',
        hint: 'This is a defect of Sluice; please report it with the text above. The lake is unchanged, and everything synced is committed in the state folder. A different partitionBy may avoid the problem.',
        context: { stream: plan.table.stream, path: file },
      },
    );
  }
  return {
    path,
    partition: [...part.key],
    rows: part.rows,
    bytes: Number(written['file_size_bytes']),
    fingerprint: part.fingerprint,
    crc32: await checksumFile(file),
    range: readRanges(written, stored, sortBy),
  };
}

function toStored({ name, type, storedAs }: LakeColumn): string {
  const column = quoteIdentifier(name);
  return storedAs === type ? column : `CAST(${column} AS ${storedAs}) AS ${column}`;
}

interface MapEntry {
  readonly key: string;
  readonly value: unknown;
}

/** Minimum and maximum values that the engine reports for a file it wrote. */
function readRanges(
  written: SqlRow,
  stored: readonly LakeColumn[],
  sortBy: readonly string[],
): LakeFile['range'] {
  const statistics = new Map(
    ((written['column_statistics'] ?? []) as readonly MapEntry[]).map(({ key, value }) => [key, value]),
  );
  const range: Record<string, [string, string]> = {};
  for (const { name, storedAs } of stored) {
    const isText = storedAs === 'VARCHAR';
    if (storedAs === 'BOOLEAN' || (isText && !sortBy.includes(name))) continue;
    const facts = statistics.get(quoteIdentifier(name)) as readonly MapEntry[] | undefined;
    const find = (wanted: string) => facts?.find(({ key }) => key === wanted)?.value;
    const [least, most] = [find('min'), find('max')];
    if (typeof least !== 'string' || typeof most !== 'string') continue;
    if (Math.max(least.length, most.length) <= RANGE_LENGTH) range[name] = [least, most];
  }
  return range;
}
