import { describe, expect, it } from 'vitest';
import type { Database } from '../../src/warehouse/database.ts';
import { catchUpHistory, closeVersions, purgeVersions } from '../../src/warehouse/keep-history.ts';
import { openTempDatabase } from '../support/temp-database.ts';

const OWN = '_run_id VARCHAR, _synced_at TIMESTAMPTZ';
const VERSION = '_run_id VARCHAR, _valid_from TIMESTAMPTZ, _valid_to TIMESTAMPTZ';
const rows = { table: 'rows', columns: ['id', 'v'], live: 'true', isSliced: false };
const day = (number: number) => `2026-01-${String(number).padStart(2, '0')}`;

async function openTables(): Promise<Database> {
  const { database } = await openTempDatabase();
  await database.run(`CREATE TABLE main.rows (id BIGINT, v VARCHAR, ${OWN})`);
  await database.run(`CREATE TABLE main.rows_history (id BIGINT, v VARCHAR, ${VERSION})`);
  return database;
}

async function writeRow(database: Database, id: number, v: string | null, run: string, at: number) {
  await database.run('INSERT INTO main.rows VALUES ($1, $2, $3, $4::TIMESTAMPTZ)', [id, v, run, day(at)]);
}

async function writeVersion(
  database: Database,
  id: number,
  v: string | null,
  run: string,
  from: number,
  to?: number,
) {
  await database.run('INSERT INTO main.rows_history VALUES ($1, $2, $3, $4::TIMESTAMPTZ, $5::TIMESTAMPTZ)', [
    ...[id, v, run, day(from)],
    to === undefined ? null : day(to),
  ]);
}

async function readVersions(database: Database): Promise<readonly string[]> {
  const versions = await database.all(
    `SELECT id || ' ' || coalesce(v, 'null') || ' ' || _run_id || ' ' || day(_valid_from) || '-' || coalesce(day(_valid_to)::VARCHAR, '') AS version
     FROM main.rows_history ORDER BY ALL`,
  );
  return versions.map(({ version }) => String(version));
}

const readRows = (database: Database) =>
  database
    .all(
      `SELECT id || ' ' || coalesce(v, 'null') || ' ' || _run_id || ' ' || day(_synced_at) AS row FROM main.rows ORDER BY ALL`,
    )
    .then((found) => found.map(({ row }) => String(row)));

describe('a history that falls behind its table', () => {
  it('opens what is new since it was written, and closes what is gone before any of that', async () => {
    const database = await openTables();
    await writeVersion(database, 1, 'a', 'run-1', 1);
    await writeVersion(database, 2, null, 'run-1', 1);
    await writeVersion(database, 3, 'c', 'run-1', 1, 2);
    await writeRow(database, 2, null, 'run-1', 1);
    await writeRow(database, 1, 'b', 'run-4', 4);
    await writeRow(database, 4, 'd', 'run-5', 5);
    await catchUpHistory(database, rows, day(9));
    expect(await readVersions(database)).toEqual([
      ...['1 a run-1 1-4', '1 b run-4 4-', '2 null run-1 1-'],
      ...['3 c run-1 1-2', '4 d run-5 5-'],
    ]);
  });

  it('closes what is gone now, where nothing says when', async () => {
    const database = await openTables();
    await writeVersion(database, 1, 'a', 'run-1', 1);
    await writeVersion(database, 2, 'b', 'run-1', 1);
    await writeRow(database, 1, 'a', 'run-1', 1);
    await catchUpHistory(database, rows, day(9));
    expect(await readVersions(database)).toEqual(['1 a run-1 1-', '2 b run-1 1-9']);
  });

  it('never closes a version before it began, whatever the clock did', async () => {
    const database = await openTables();
    await writeVersion(database, 1, 'a', 'run-1', 8);
    await writeRow(database, 1, 'b', 'run-2', 3);
    await catchUpHistory(database, rows, day(4));
    expect(await readVersions(database)).toEqual(['1 a run-1 8-8', '1 b run-2 3-']);
  });

  it('counts equal rows', async () => {
    const database = await openTables();
    for (const run of [1, 2, 3]) await writeRow(database, 1, 'a', `run-${run}`, run);
    await writeVersion(database, 1, 'a', 'run-2', 2);
    await catchUpHistory(database, rows, day(9));
    const read = await readVersions(database);
    expect(read).toHaveLength(3);
    expect(new Set(read.map((version) => version.slice(0, 4)))).toEqual(new Set(['1 a ']));
    await catchUpHistory(database, rows, day(10));
    expect(await readVersions(database)).toEqual(read);
  });

  it('gives a row that was written again, as it had been, the age of its version', async () => {
    const database = await openTables();
    await writeVersion(database, 1, 'a', 'run-1', 1);
    await writeRow(database, 1, 'a', 'rebuilt', 7);
    await catchUpHistory(database, rows, day(9));
    expect(await readVersions(database)).toEqual(['1 a run-1 1-']);
    expect(await readRows(database)).toEqual(['1 a run-1 1']);
  });

  it('leaves rows that were deleted softly closed', async () => {
    const database = await openTables();
    await database.run('ALTER TABLE main.rows ADD COLUMN _deleted_at TIMESTAMPTZ');
    for (const id of [1, 2])
      await database.run(
        `INSERT INTO main.rows VALUES ($1, 'a', 'run-1', '2026-01-01', CASE WHEN $1 = 2 THEN TIMESTAMPTZ '2026-01-03' END)`,
        [id],
      );
    await catchUpHistory(database, { ...rows, live: 't._deleted_at IS NULL' }, day(9));
    expect(await readVersions(database)).toEqual(['1 a run-1 1-']);
  });
});

describe('versions', () => {
  it('end for the rows named, each once, of those that are equal the one written by the same run', async () => {
    const database = await openTables();
    for (const run of [1, 2, 3]) {
      await writeRow(database, 1, 'a', `run-${run}`, run);
      await writeVersion(database, 1, 'a', `run-${run}`, run);
    }
    await writeRow(database, 1, 'a', 'run-3', 3);
    await writeVersion(database, 1, 'a', 'run-3', 3);
    const named = `SELECT rowid FROM main.rows WHERE _run_id = 'run-2' UNION ALL
      (SELECT rowid FROM main.rows WHERE _run_id = 'run-3' LIMIT 1)`;
    await closeVersions(database, rows, named, day(9));
    expect(await readVersions(database)).toEqual([
      ...['1 a run-1 1-', '1 a run-2 2-9'],
      ...['1 a run-3 3-', '1 a run-3 3-9'],
    ]);
  });

  it('that ended long ago are forgotten in every history, and in no other table', async () => {
    const database = await openTables();
    await writeVersion(database, 1, 'a', 'run-1', 1, 3);
    await writeVersion(database, 1, 'b', 'run-2', 3, 6);
    await writeVersion(database, 1, 'c', 'run-3', 6);
    await database.run('CREATE TABLE main.others_history AS FROM main.rows_history');
    await database.run('CREATE TABLE main.events AS FROM main.rows_history');
    expect(await purgeVersions(database, day(5))).toBe(2);
    expect(await readVersions(database)).toEqual(['1 b run-2 3-6', '1 c run-3 6-']);
    expect(await database.count('SELECT count(*) FROM main.others_history')).toBe(2);
    expect(await database.count('SELECT count(*) FROM main.events')).toBe(3);
    expect(await purgeVersions(database, day(5))).toBe(0);
  });
});
