import type { Page } from '../model/page.ts';
import { describeSharedKeys } from '../model/run-report.ts';
import type { Checkpoint, Stream } from '../model/stream.ts';
import type { Database } from '../warehouse/database.ts';
import { quoteIdentifier } from '../warehouse/identifiers.ts';
import { deleteIncoming, INCOMING } from '../warehouse/incoming.ts';
import { readStagedRecords } from '../stage/staged-records.ts';
import { hashOf } from '../json/fingerprint.ts';
import type { FetchedScan, PreparedKey, PreparedLoad } from '../run/scan.ts';

// Enough to distinguish repeated rows in the source from shifted pages without a second scan.
const MOST_POSITIONS = 3;

/**
 * Positions of some rows that share a key with another row, both of each pair, to be read again: rows that are still
 * there are duplicates of the source, others show that the pages moved.
 */
export async function findDuplicatePositions(
  database: Database,
  key: readonly string[],
): Promise<readonly number[]> {
  const partition = key.map(quoteIdentifier).join(', ');
  const rows = await database.all(`SELECT list(_sluice_position ORDER BY _sluice_position) AS positions
    FROM (SELECT ${partition}, _sluice_position FROM ${INCOMING}) GROUP BY ${partition} HAVING count(*) > 1
    ORDER BY min(_sluice_position) LIMIT ${MOST_POSITIONS}`);
  return rows
    .flatMap((row) => (row['positions'] as readonly bigint[]).slice(0, 2).map(Number))
    .slice(0, MOST_POSITIONS + 1);
}

/** What is known about a scan's rows before their keys are checked. */
interface KeyedRows {
  readonly stream: Stream;
  readonly scan: FetchedScan;
  readonly checkpoint: Checkpoint | undefined;
  /** The chosen key. */
  readonly key: PreparedKey | undefined;
  readonly columns: readonly string[];
}

/**
 * Positions of rows that were read twice, by the known key or, without a key, by all columns. Either the source has
 * duplicates, or the pages moved and a row is missing for each.
 */
export async function findSuspects(database: Database, rows: KeyedRows): Promise<readonly number[]> {
  const { stream, scan, checkpoint, key, columns } = rows;
  if (!stream.paginated || key?.origin === 'config') return [];
  if (scan.verdict === 'drifted' || scan.verdict === 'partial') return [];
  const known = checkpoint?.keyOrigin === 'learned' ? checkpoint.keyFields : undefined;
  const isReplaced = known !== undefined && known.join() !== key?.columns.join();
  if (isReplaced && known.every((name) => columns.includes(name)))
    return findDuplicatePositions(database, known);
  return key === undefined ? findTwinPositions(database, columns, stream.pageSize) : [];
}

// Two equal rows on one page are duplicates of the source: a response is consistent.
async function findTwinPositions(
  database: Database,
  columns: readonly string[],
  pageSize: number,
): Promise<readonly number[]> {
  if (columns.length === 0) return [];
  const pageOf = (position: string) => `greatest(${position} - 1, 0) // ${Math.max(1, pageSize - 1)}`;
  const rows = await database.all(`SELECT min(_sluice_position) AS first, max(_sluice_position) AS last
    FROM (SELECT hash(${columns.map(quoteIdentifier).join(', ')}) AS _sluice_hash, _sluice_position FROM ${INCOMING})
    GROUP BY _sluice_hash HAVING count(*) > 1 AND ${pageOf('first')} <> ${pageOf('last')} ORDER BY first LIMIT 1`);
  return rows.flatMap((row) => [Number(row['first']), Number(row['last'])]);
}

/** Keeps the last of the rows that are equal in these columns. */
export async function dropEqualRows(database: Database, columns: readonly string[]): Promise<void> {
  if (columns.length === 0) return;
  const last = `SELECT max(_sluice_position) FROM ${INCOMING} GROUP BY ${columns.map(quoteIdentifier).join(', ')}`;
  await deleteIncoming(database, `_sluice_position NOT IN (${last})`);
}

/**
 * Checks the rows of a scan for duplicate keys. If duplicates are still at their offsets, the source has them: there
 * are fewer keys than declared records, and the scan is not `verified`. Otherwise the pages moved.
 */
export async function judgeDuplicates(
  stream: Stream,
  scan: FetchedScan,
  load: PreparedLoad,
): Promise<FetchedScan> {
  const { duplicates = 0, duplicatePositions = [] } = load.key ?? {};
  const positions = duplicates > 0 ? duplicatePositions : (load.suspects ?? []);
  if (positions.length === 0 || !stream.paginated || scan.verdict === 'drifted') return scan;
  if (!(await recordsStillThere(scan.recordsFile, positions, scan.reread))) {
    const reason = 'rows were read twice and have moved since';
    return { ...scan, verdict: 'drifted', cause: 'moved', reasons: [reason, ...scan.reasons] };
  }
  return doubtSharedKeys(stream, scan, load);
}

/** A scan with fewer keys than records is not `verified`. */
export function doubtSharedKeys(stream: Stream, scan: FetchedScan, { key }: PreparedLoad): FetchedScan {
  const { duplicates = 0 } = key ?? {};
  if (duplicates === 0 || scan.verdict !== 'verified' || !stream.paginated) return scan;
  const reason = describeSharedKeys(scan.rows, duplicates);
  return { ...scan, verdict: 'unverified', reasons: [reason, ...scan.reasons] };
}

/** Whether each position still has the staged record; `request` asks for the page that starts there. */
async function recordsStillThere(
  recordsFile: string,
  positions: readonly number[],
  request: (offset: number) => Promise<Page>,
): Promise<boolean> {
  const wanted = new Set(positions);
  const staged = new Map<number, string | undefined>();
  for await (const records of readStagedRecords(recordsFile)) {
    for (const { position, text, value } of records) {
      if (wanted.has(position)) staged.set(position, hashOf({ text, value, exact: false }));
    }
  }
  for (const position of positions) {
    const page = await request(position);
    if (hashOf(page.records[0]) !== staged.get(position)) return false;
  }
  return true;
}
