import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Database } from '../../src/warehouse/database.ts';
import { rewriteFile } from '../../src/warehouse/rewrite-file.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-rewrite-'));
  file = join(folder, 'work.duckdb');
});
afterEach(() => rmSync(folder, { recursive: true }));

async function use<T>(work: (database: Database) => Promise<T>): Promise<T> {
  const database = await Database.open({ file, folders: [folder] });
  try {
    return await work(database);
  } finally {
    await database.release();
  }
}

async function fill(): Promise<void> {
  await use(async (database) => {
    await database.run('CREATE SCHEMA _sluice');
    await database.run('CREATE TABLE _sluice.meta (key VARCHAR, value VARCHAR)');
    await database.run(`INSERT INTO _sluice.meta VALUES ('a', 'one'), ('b', 'two')`);
    await database.run(
      `CREATE TABLE main."odd ""name" AS SELECT i AS id, i::HUGEINT * 10::HUGEINT ** 30 AS huge, '{"a":1}'::JSON AS j,
         1.5::DECIMAL(38, 10) AS d, now()::TIMESTAMPTZ AS t, DATE '2026-01-01' + i::INTEGER AS day, NULL::VARCHAR AS nothing,
         'person.of.interest ' || md5(i::VARCHAR) AS secret FROM range(300) r(i)`,
    );
    await database.checkpoint();
    await database.run('ALTER TABLE main."odd ""name" DROP COLUMN secret');
    await database.checkpoint();
  });
}

const look = () =>
  use(async (database) => ({
    columns: await database.all(
      `SELECT table_schema, table_name, column_name, data_type, ordinal_position FROM information_schema.columns
       WHERE table_catalog = 'work' ORDER BY ALL`,
    ),
    rows: await database.all('SELECT * FROM main."odd ""name" ORDER BY id'),
    meta: await database.all('SELECT * FROM _sluice.meta ORDER BY key'),
  }));

const holdsSecret = () => readFileSync(file).includes('person.of.interest');

it('keeps every table, type and row, and nothing that left them', async () => {
  await fill();
  const before = await look();
  expect(holdsSecret()).toBe(true);
  await rewriteFile(file, () => Promise.resolve());
  expect(holdsSecret()).toBe(false);
  expect(await look()).toEqual(before);
  expect(readdirSync(folder)).toEqual(['work.duckdb']);
});

it('changes the new file by what it is given', async () => {
  await fill();
  await rewriteFile(file, (fresh) => fresh.run(`DELETE FROM _sluice.meta WHERE key = 'b'`));
  expect((await look()).meta).toEqual([{ key: 'a', value: 'one' }]);
});

it('leaves the file as it was when anything fails, and no other behind', async () => {
  await fill();
  const bytes = readFileSync(file);
  await expect(rewriteFile(file, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(readFileSync(file).equals(bytes)).toBe(true);
  expect(readdirSync(folder)).toEqual(['work.duckdb']);
});

it('leaves the file to its owner alone, while it is written as well', async () => {
  await fill();
  chmodSync(file, 0o600);
  const modeOf = (path: string) => statSync(path).mode & 0o777;
  let meanwhile: number | undefined;
  await rewriteFile(file, () => {
    meanwhile = modeOf(`${file}.rewrite`);
    return Promise.resolve();
  });
  expect([meanwhile, modeOf(file)]).toEqual([0o600, 0o600]);
});
