import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Database } from '../../src/warehouse/database.ts';
import { isOfSlice } from '../../src/warehouse/live-rows.ts';

const root = resolve(import.meta.dirname, '../..');

describe('the condition for rows of a slice', () => {
  it('and its opposite find every row once, also in row groups without a slice', async () => {
    const database = await Database.open({ file: ':memory:', folders: [] });
    try {
      await database.run(
        `CREATE TABLE t AS SELECT i % 3 AS r, CASE WHEN i > 250000 THEN 'a' END AS _slice FROM range(300000) AS x(i)`,
      );
      const own = isOfSlice('o', 'a');
      const countOf = (where: string) => database.count(`SELECT count(*) FROM t AS o WHERE ${where}`);
      expect(await countOf(own)).toBe(49_999);
      expect(await countOf(`NOT (${own})`)).toBe(250_001);
      expect(await countOf(`(${own} AND o.r NOT IN (1)) OR NOT (${own})`)).toBe(283_334);
    } finally {
      await database.release();
    }
  });

  it('is written without IS DISTINCT FROM a constant, which loses rows of DuckDB 1.5.5 in an OR', () => {
    const files = globSync(['src/**/*.ts', 'state/**/*.ts'], { cwd: root });
    const constant = /DISTINCT FROM (?:'|\$\{quoteLiteral)/;
    expect(files.length).toBeGreaterThan(500);
    expect(files.filter((file) => constant.test(readFileSync(resolve(root, file), 'utf8')))).toEqual([]);
  });
});
