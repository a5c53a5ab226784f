import { describe, expect, it } from 'vitest';
import type { Database } from '../../src/warehouse/database.ts';
import { openTempDatabase } from '../support/temp-database.ts';

const ROWS = 122_880;
const LONG = 1_000_000;

/** Rows of which one has a long value in `note`. */
function rows(value: string): string {
  return `SELECT range AS id, if(range = 100, ${value}, NULL) AS note FROM range(${ROWS})`;
}

const text = `repeat('x', ${LONG})`;
const ways: Readonly<Record<string, readonly string[]>> = {
  'a text': ['CREATE TABLE main.t (id BIGINT, note VARCHAR)', `INSERT INTO main.t ${rows(text)}`],
  'a list': [
    'CREATE TABLE main.t (id BIGINT, note JSON)',
    `INSERT INTO main.t ${rows(`('["' || ${text} || '"]')::JSON`)}`,
  ],
  'a column that was added': [
    'CREATE TABLE main.t (id BIGINT)',
    `INSERT INTO main.t SELECT range FROM range(${ROWS})`,
    'ALTER TABLE main.t ADD COLUMN note VARCHAR',
    `UPDATE main.t SET note = ${text} WHERE id = 100`,
  ],
  'a column whose type was widened': [
    'CREATE TABLE main.t (id BIGINT, note BIGINT)',
    `INSERT INTO main.t SELECT range, NULL FROM range(${ROWS / 2})`,
    'ALTER TABLE main.t ALTER COLUMN note SET DATA TYPE VARCHAR',
    `INSERT INTO main.t ${rows(text)} LIMIT ${ROWS / 2}`,
  ],
  'the copy of a table': [
    'CREATE TABLE main.old (id BIGINT, note VARCHAR)',
    `INSERT INTO main.old ${rows(text)}`,
    'CREATE TABLE main.t AS FROM main.old',
    'DROP TABLE main.old',
  ],
};

async function readLimit(database: Database): Promise<unknown> {
  return database.all(`SELECT current_setting('memory_limit') AS limit`);
}

describe('one long text among rows without one', () => {
  it.each(Object.entries(ways))('in %s is read in little memory', async (_, statements) => {
    const { database } = await openTempDatabase();
    await database.transaction(async () => {
      for (const sql of statements) await database.run(sql);
    });
    await database.checkpoint();
    const before = await readLimit(database);
    const [row] = await database.all(
      `SELECT bit_xor(hash(t)) > 0 AS hashed, sum(length(trim(note::VARCHAR, '[]"')))::INT AS length FROM main.t t`,
    );
    expect(row).toEqual({ hashed: true, length: LONG });
    // The engine is given more memory when a statement fails for want of it: otherwise it takes 2 GB.
    expect(await readLimit(database)).toEqual(before);
  });
});
