import type { Page } from '../model/page.ts';
import { describeSharedKeys } from '../model/run-report.ts';
import type { Checkpoint, Stream } from '../model/stream.ts';
import type { Database } from '../warehouse/database.ts';
import { quoteIdentifier } from '../warehouse/identifiers.ts';
import { deleteIncoming, INCOMING } from '../warehouse/incoming.ts';
import { readStagedRecords } from '../stage/staged-records.ts';
import { hashOf } from '../json/fingerprint.ts';
import { listPageStarts } from './locate-records.ts';
import type { FetchedScan, PreparedKey, PreparedLoad } from '../run/scan.ts';

// Enough to distinguish repeated rows in the source from shifted pages without a second scan.
const MOST_POSITIONS = 3;
// Each pair may take two requests. More pairs are mostly rows that the source repeats.
const MOST_TWINS = 3;

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
  const repeated =
    isReplaced && known.every((name) => columns.includes(name))
      ? await findDuplicatePositions(database, known)
      : [];
  // The first of them may be the source's own, and a row that moved is equal in every column.
  const twins = key === undefined ? await findTwinPositions(database, columns, scan.recordsFile) : [];
  return [...repeated, ...twins];
}

/** Positions of rows that are equal in all columns and came on different pages: a response is consistent in itself. */
async function findTwinPositions(
  database: Database,
  columns: readonly string[],
  recordsFile: string,
): Promise<readonly number[]> {
  const starts = columns.length === 0 ? [] : await listPageStarts(recordsFile);
  if (starts.length < 2) return [];
  const rows = await database.all(
    `WITH pages AS (SELECT unnest(from_json($1, '["BIGINT"]')) AS start),
      twins AS (SELECT min(_sluice_position) AS first, max(_sluice_position) AS last
        FROM (SELECT hash(${columns.map(quoteIdentifier).join(', ')}) AS _sluice_hash, _sluice_position FROM ${INCOMING})
        GROUP BY _sluice_hash HAVING count(*) > 1)
      SELECT first, last FROM twins ASOF JOIN pages one ON first >= one.start ASOF JOIN pages other ON last >= other.start
      WHERE one.start <> other.start ORDER BY first LIMIT ${MOST_TWINS}`,
    [JSON.stringify(starts)],
  );
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

/** Whether each position still has the staged record; `request` asks for a page with the record at a position. */
async function recordsStillThere(
  recordsFile: string,
  positions: readonly number[],
  request: (position: number) => Promise<Page>,
): Promise<boolean> {
  const wanted = new Set(positions);
  const staged = new Map<number, string | undefined>();
  for await (const records of readStagedRecords(recordsFile)) {
    for (const { position, text, value } of records) {
      if (wanted.has(position)) staged.set(position, hashOf({ text, value, exact: false }));
    }
  }
  let page: Page | undefined;
  for (const position of [...wanted].toSorted((a, b) => a - b)) {
    if (page === undefined || position >= page.offset + page.records.length) page = await request(position);
    if (hashOf(page.records[position - page.offset]) !== staged.get(position)) return false;
  }
  return true;
}
