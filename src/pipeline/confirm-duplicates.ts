import type { Page } from '../model/page.ts';
import type { Database } from '../warehouse/database.ts';
import { quoteIdentifier } from '../warehouse/identifiers.ts';
import { INCOMING } from '../warehouse/project-stage.ts';
import { readStagedRecords } from '../warehouse/staged-records.ts';
import { hashOf } from '../json/fingerprint.ts';

// Enough to tell a source that repeats itself from pages that shifted, without a second scan.
const MOST_POSITIONS = 3;

/**
 * Positions of some rows that share a key with another, both of a pair, so that they can be asked for
 * again: a row that is still there belongs to the source, one that is not shows that the pages moved.
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

/** Whether each position still holds the staged record; `request` asks for the page that begins there. */
export async function recordsStillThere(
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
