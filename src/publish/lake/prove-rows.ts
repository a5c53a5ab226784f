import { join } from 'node:path';
import { formatCount, formatCountOf } from '../../model/format-count.ts';
import type { SqlSession } from '../../model/sql.ts';
import { type CatalogTable, generationFolder } from '../../warehouse/lake-entry.ts';
import { selectRows } from './catalog.ts';
import { readManifest } from './manifest.ts';

/** What rows come to, whatever their order. */
export interface RowSum {
  readonly rows: number;
  /** Undefined where it is not known, or where this engine sums otherwise. */
  readonly sum: bigint | undefined;
}

/**
 * Proves that rows read from a lake are those that were published, by the count and the fingerprint of each file: the
 * engine reads most damage inside a file as other values.
 *
 * @param held what the rows come to that were read
 * @returns what is wrong, naming the file; undefined where nothing is
 */
export async function findWrongRows(
  session: SqlSession,
  lake: string,
  table: CatalogTable,
  held: RowSum,
): Promise<string | undefined> {
  const files = await knowFiles(session, lake, table);
  const [first] = files;
  const wanted = files.reduce(add, { rows: 0, sum: 0n });
  const wrong = compare(held, wanted);
  if (first === undefined || wrong === undefined) return undefined;
  const folder = generationFolder(lake, table.table, table.generation);
  for (const file of files) {
    const path = join(folder, file.path);
    const rows = await measureRows(session, `(${selectRows(lake, table, file.path)})`);
    const why = compare(rows, file);
    if (why !== undefined) return `${path}: ${why}`;
  }
  return `${folder}: ${wrong} of its ${formatCountOf(files.length, 'file')}`;
}

/** What this engine makes of a row with a value of each kind; the same for as long as it sums alike. */
export async function describeHashes(session: SqlSession): Promise<string> {
  const [row] = await session.all(
    `SELECT hash("a row")::VARCHAR AS hash FROM (SELECT 1::BIGINT AS a, 'text' AS b, 1.5::DOUBLE AS c, true AS d,
       DATE '2026-01-31' AS e, TIMESTAMPTZ '2026-01-31 12:00:00+00' AS f, 1.5::DECIMAL(18, 3) AS g, NULL::VARCHAR AS h,
       9::HUGEINT AS i, 'a longer text than fits into a value' AS j) AS "a row"`,
  );
  return String(row?.['hash']);
}

/** The files with what each is to hold; earlier releases told their fingerprints in the manifest alone. */
async function knowFiles(
  session: SqlSession,
  lake: string,
  { table, files, hashes }: CatalogTable,
): Promise<readonly (RowSum & { readonly path: string })[]> {
  const isComparable = hashes === undefined || hashes === (await describeHashes(session));
  const isTold = files.every(({ fingerprint }) => fingerprint !== undefined);
  const manifest = isTold ? [] : (readManifest(lake)?.tables.find((one) => one.table === table)?.files ?? []);
  const told = new Map(manifest.map(({ path, fingerprint }) => [path, fingerprint]));
  return files.map(({ path, rows, fingerprint = told.get(path) }) => ({
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
  return wanted.sum === undefined || held.sum === wanted.sum
    ? undefined
    : 'damaged, its values are other ones';
}
