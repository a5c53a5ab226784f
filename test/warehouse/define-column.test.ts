import { expect, it } from 'vitest';
import { defineColumn } from '../../src/warehouse/define-column.ts';
import { openTempDatabase } from '../support/temp-database.ts';

it('defines columns by their types, those of long texts as compressed', () => {
  expect(defineColumn({ name: 'a"b', type: 'BIGINT', compression: 'zstd' })).toBe('"a""b" BIGINT');
  expect(defineColumn({ name: 'a', type: 'NULL' })).toBe('"a" VARCHAR');
  expect(defineColumn({ name: 'a', type: 'VARCHAR' })).toBe('"a" VARCHAR');
  expect(defineColumn({ name: 'a', type: 'VARCHAR', compression: 'zstd' })).toBe(
    '"a" VARCHAR USING COMPRESSION zstd',
  );
});

it('reads one long text among rows without one in little memory', async () => {
  const { database } = await openTempDatabase();
  const column = defineColumn({ name: 'long', type: 'VARCHAR', compression: 'zstd' });
  await database.run(`CREATE TABLE t (id BIGINT, ${column})`);
  await database.run(
    `INSERT INTO t SELECT range, if(range = 100, repeat('x', 1000000), NULL) FROM range(122880)`,
  );
  await database.checkpoint();
  const limit = () => database.all(`SELECT current_setting('memory_limit') AS limit`);
  const before = await limit();
  const [row] = await database.all(
    'SELECT bit_xor(hash(t)) > 0 AS hashed, sum(length(long))::INT AS length FROM t',
  );
  expect(row).toEqual({ hashed: true, length: 1_000_000 });
  // Without compression it takes 2 GB.
  expect(await limit()).toEqual(before);
});
