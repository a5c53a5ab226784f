import { join } from 'node:path';
import { formatCount, formatCountOf } from '../../text/format-count.ts';
import type { SqlSession } from '../../model/sql.ts';
import { type CatalogTable, generationFolder } from '../../warehouse/lake-entry.ts';
import { findDamagedFile } from '../../warehouse/lake-losses.ts';
import { selectRows } from '../../warehouse/select-lake.ts';
import { describeHashes } from '../stored-values.ts';
import { readManifest } from './manifest.ts';

/** A checksum of rows that does not depend on their order. */
export interface RowSum {
  readonly rows: number;
  /** Undefined if it is unknown, or if this engine hashes differently. */
  readonly sum: bigint | undefined;
}

/**
 * Checks that a table's files have the bytes, and the rows read from them the count and values, that were published. The
 * engine does not notice most damage inside a file: it reads different values, other types, or skips rows that a filter
 * asks for.
 *
 * @param held checksum of the rows that were read
 * @returns what is wrong, with the file name; undefined if nothing is
 */
export async function findWrongRows(
  session: SqlSession,
  lake: string,
  table: CatalogTable,
  held: RowSum,
): Promise<string | undefined> {
  const folder = generationFolder(lake, table.table, table.generation);
  const damaged = await findDamagedFile(folder, table.files);
  if (damaged !== undefined) return `${damaged}: damaged: its bytes changed`;
  const files = await knowFiles(session, lake, table);
  const [first] = files;
  const wanted = files.reduce(add, { rows: 0, sum: 0n });
  const wrong = compare(held, wanted);
  if (first === undefined || wrong === undefined) return undefined;
  for (const file of files) {
    const path = join(folder, file.path);
    const rows = await measureRows(session, `(${selectRows(lake, table, file.path)})`);
    const why = compare(rows, file);
    if (why !== undefined) return `${path}: ${why}`;
  }
  return `${folder}: ${wrong} of its ${formatCountOf(files.length, 'file')}`;
}

/** The files with their expected rows. Earlier releases stored the fingerprints only in the manifest. */
async function knowFiles(
  session: SqlSession,
  lake: string,
  { table, files, hashes }: CatalogTable,
): Promise<readonly (RowSum & { readonly path: string })[]> {
  const isComparable = hashes === undefined || hashes === (await describeHashes(session));
  const isRecorded = files.every(({ fingerprint }) => fingerprint !== undefined);
  const manifest = isRecorded
    ? []
    : (readManifest(lake)?.tables.find((one) => one.table === table)?.files ?? []);
  const recorded = new Map(manifest.map(({ path, fingerprint }) => [path, fingerprint]));
  return files.map(({ path, rows, fingerprint = recorded.get(path) }) => ({
    path,
    rows,
    sum: fingerprint === undefined || !isComparable ? undefined : BigInt(fingerprint),
  }));
}

function add(total: RowSum, { rows, sum }: RowSum): RowSum {
  const isKnown = total.sum !== undefined && sum !== undefined;
  return { rows: total.rows + rows, sum: isKnown ? (total.sum ?? 0n) + (sum ?? 0n) : undefined };
}

/** @param source SQL of the rows: a table, a view or a query in brackets */
export async function measureRows(session: SqlSession, source: string): Promise<RowSum> {
  const [row] = await session.all(
    `SELECT count(*) AS _sluice_rows, coalesce(sum(hash("every value")), 0)::VARCHAR AS _sluice_sum
       FROM ${source} AS "every value"`,
  );
  return { rows: Number(row?.['_sluice_rows']), sum: BigInt(String(row?.['_sluice_sum'])) };
}

function compare(held: RowSum, wanted: RowSum): string | undefined {
  if (held.rows !== wanted.rows)
    return `${formatCountOf(held.rows, 'row')} instead of ${formatCount(wanted.rows)}`;
  return wanted.sum === undefined || held.sum === wanted.sum ? undefined : 'damaged: its values changed';
}
