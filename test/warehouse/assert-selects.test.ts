import { copyFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LAKE_CATALOG, LAKE_MANIFEST } from '../../src/model/lake.ts';
import { queryPublished } from '../../src/warehouse/query-published.ts';
import { openTempDatabase } from '../support/temp-database.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

const reads = [
  'FROM t',
  ';; FROM t;',
  '-- a\nFROM t -- b',
  '/* a; b */ TABLE t',
  'VALUES (1)',
  'DESCRIBE t',
  'SHOW TABLES',
  'SUMMARIZE t',
  `FROM pragma_table_info('t')`,
  `FROM query('FROM t')`,
  `SELECT '"name": "ENABLE_LOGGING"' AS a, id AS "name: ENABLE_LOGGING" FROM t WHERE id::VARCHAR <> '"name": "ENABLE_LOGGING"'`,
];

const others = [
  'CREATE TEMP TABLE x AS SELECT 1',
  'CREATE TABLE memory.main.x AS SELECT 1',
  `COPY t TO '/tmp/x.csv'`,
  'SET threads = 1',
  'EXPLAIN ANALYZE FROM t',
  'CALL pragma_version()',
  'PRAGMA version',
  '/* a */ PRAGMA table_info(t)',
  'PREPARE p AS SELECT 1',
  'USE memory',
  'CHECKPOINT',
  'FROM force_checkpoint()',
  'FROM enable_profiling()',
  `FROM query('FROM enable_pro' || 'filing()')`,
  'SELECT (SELECT count(*) FROM system.main."enable_profiling"()), * FROM t',
  'WITH x AS (FROM enable_logging()) SELECT * FROM t, x',
];

describe('a query that may only select', () => {
  it('reads', async () => {
    const file = await publish();
    for (const sql of reads) {
      const { columns } = await queryPublished(file, sql, { onlySelects: true });
      expect([sql, columns.length > 0]).toEqual([sql, true]);
    }
  });

  it('does nothing else, however it is written', async () => {
    const file = await publish();
    for (const sql of others) {
      const failing = queryPublished(file, sql, { onlySelects: true });
      await expect(failing, sql).rejects.toMatchObject({ code: 'query_failed', exitCode: 2 });
    }
  });

  it('is every query over a lake: no log or profile is written into its folder', async () => {
    const lake = makeTempFolder();
    const file = join(lake, LAKE_CATALOG);
    copyFileSync(await publish(), file);
    writeFileSync(join(lake, LAKE_MANIFEST), '{}');
    const before = readdirSync(lake).toSorted();
    const call = `enable_logging(storage = 'file', storage_path = '${lake}/logs')`;
    for (const sql of [`FROM ${call}`, `CALL ${call}`, `FROM query('FROM ${call.replaceAll("'", "''")}')`])
      await expect(queryPublished(file, sql)).rejects.toThrow('query over a lake takes a SELECT');
    expect(readdirSync(lake).toSorted()).toEqual(before);
  });
});

async function publish(): Promise<string> {
  const { database, file } = await openTempDatabase();
  await database.run('CREATE TABLE t AS SELECT 1 AS id');
  await database.checkpoint();
  await database.release();
  return file;
}
