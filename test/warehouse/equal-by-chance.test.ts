import { describe, expect, it } from 'vitest';
import { measureKeyedChance, measureKeylessChance } from '../../src/warehouse/equal-by-chance.ts';
import { openTempDatabase } from '../support/temp-database.ts';

/** Two tables as the comparison makes them; rows are numbered from 0 as `i`. */
async function open(theirs: string, ours: string, rows = 400) {
  const { database } = await openTempDatabase();
  await database.run(
    `CREATE TABLE theirs AS SELECT i AS _sluice_position, ${theirs} FROM range(${rows}) r(i)`,
  );
  await database.run(`CREATE TABLE ours AS SELECT ${ours} FROM range(${rows}) r(i)`);
  return database;
}

const SIDES = { theirs: 'theirs', ours: 'ours' };
const keyed = (database: Awaited<ReturnType<typeof open>>, values: readonly string[]) =>
  measureKeyedChance(database, SIDES, 's.id = t.id', values);

describe('the chance that another row has the values of a key', () => {
  const day = `DATE '2026-01-01' + (i // 10)::INTEGER AS day`;

  it('is nothing where no column differs', async () => {
    const database = await open(`i AS id, ${day}, i % 2 = 0 AS yes`, `i AS id, ${day}, i % 2 = 0 AS yes`);
    expect(await keyed(database, ['day', 'yes'])).toBe(0);
  });

  it('is one half for a yes or no, whatever else follows from the key', async () => {
    const database = await open(
      `i AS id, ${day}, hash(i) % 2 = 0 AS yes`,
      `i AS id, ${day}, hash(i + 1000) % 2 = 0 AS yes`,
    );
    expect(await keyed(database, ['day', 'yes'])).toBeCloseTo(0.5, 1);
  });

  it('counts columns that depend on each other as one', async () => {
    const cells = (from: string) =>
      `hash(${from}) % 2 = 0 AS yes, if(hash(${from}) % 2 = 0, 1, NULL) AS rank`;
    const database = await open(`i AS id, ${cells('i')}`, `i AS id, ${cells('i + 1000')}`);
    expect(await keyed(database, ['yes', 'rank'])).toBeCloseTo(0.5, 1);
  });

  it('is next to nothing where values differ from row to row', async () => {
    const database = await open('i AS id, i * 3 AS n', 'i AS id, i * 7 AS n');
    expect(await keyed(database, ['n'])).toBe(0);
  });

  it('is known for a single row', async () => {
    const database = await open('i AS id, 1 AS n', 'i AS id, 2 AS n', 1);
    expect(await keyed(database, ['n'])).toBe(0);
  });
});

describe('the chance that another row is in a table without a key', () => {
  it('is high where a table has every combination, and low where rows are rare', async () => {
    const common = await open('i % 20 AS a, hash(i) % 2 AS b', 'i % 20 AS a, hash(i) % 2 AS b');
    expect(await measureKeylessChance(common, SIDES, ['a', 'b'])).toBeGreaterThan(0.9);
    const rare = await open('i AS a, hash(i) % 1000 AS b', 'i AS a, hash(i) % 1000 AS b');
    expect(await measureKeylessChance(rare, SIDES, ['a', 'b'])).toBeLessThan(0.1);
  });

  it('leaves out a column with one value', async () => {
    const database = await open("i AS a, 'x' AS b", "i AS a, 'x' AS b");
    expect(await measureKeylessChance(database, SIDES, ['a', 'b'])).toBeGreaterThan(0.9);
    const single = await open("'x' AS b", "'x' AS b", 5);
    expect(await measureKeylessChance(single, SIDES, ['b'])).toBe(0);
  });
});
