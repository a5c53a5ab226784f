import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, it } from 'vitest';
import { AbortedError, ConfigError } from '../../src/model/errors.ts';
import {
  nameDatabase,
  openPublished,
  queryPublished,
  streamPublished,
} from '../../src/warehouse/query-published.ts';
import { openTempDatabase } from '../support/temp-database.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

async function publish(): Promise<string> {
  const { database, file } = await openTempDatabase();
  await database.run('CREATE TABLE prompts AS SELECT range AS id FROM range(10)');
  await database.run('CREATE TABLE mentions AS SELECT 1 AS id');
  await database.checkpoint();
  await database.release();
  return file;
}

describe('queryPublished', () => {
  it('answers a statement', async () => {
    const file = await publish();
    expect(await queryPublished(file, 'SELECT sum(id)::INTEGER AS total FROM prompts')).toEqual({
      columns: [{ name: 'total', type: 'INTEGER' }],
      rows: [[45]],
    });
  });

  it('says how PIVOT is one statement', async () => {
    const file = await publish();
    await expect(queryPublished(file, 'PIVOT numbers ON n')).rejects.toMatchObject({
      message: 'query takes one SQL statement, but the text has 2',
      hint: expect.stringContaining('without IN') as string,
    });
    await expect(queryPublished(file, 'SELECT 1; SELECT 2')).rejects.toMatchObject({
      hint: 'Run them one by one.',
    });
  });

  it.each(['', ' ; ', '-- nothing', '/* a */ ;\n-- b'])('finds no statement in %j', async (sql) => {
    await expect(queryPublished(await publish(), sql)).rejects.toThrow('the text has none');
  });

  it('writes intervals as the engine does', async () => {
    const { rows } = await queryPublished(
      await publish(),
      `SELECT INTERVAL '1 month 2 days 03:04:05.5', INTERVAL '-1 hour'`,
    );
    expect(rows).toEqual([['1 month 2 days 03:04:05.5', '-01:00:00']]);
  });

  it.each([
    `'infinity'::DATE`,
    `'-infinity'::DATE`,
    `'infinity'::TIMESTAMP`,
    `'-infinity'::TIMESTAMPTZ`,
    `'infinity'::TIMESTAMP_S`,
    `'-infinity'::TIMESTAMP_MS`,
    `'infinity'::TIMESTAMP_NS`,
    `'0001-12-31 (BC)'::DATE`,
    `'0001-12-31 (BC) 10:00:00.5'::TIMESTAMP`,
    `'0001-12-31 (BC) 10:00:00+00'::TIMESTAMPTZ`,
    `'0044-03-15 (BC) 10:00:00+00'::TIMESTAMPTZ`,
    `'10000-01-01'::DATE`,
  ])('writes %s as the engine does, in lists too', async (time) => {
    const { rows } = await queryPublished(
      await publish(),
      `SELECT ${time}, to_json([${time}]::VARCHAR[])::VARCHAR AS text, [${time}]`,
    );
    const text = rows[0]?.[1];
    expect(rows).toEqual([[(JSON.parse(String(text)) as string[])[0], text, text]]);
  });

  it('gives at most the rows asked for', async () => {
    const { rows } = await queryPublished(await publish(), 'SELECT id FROM prompts ORDER BY id', {
      maxRows: 3,
    });
    expect(rows).toHaveLength(3);
  });

  it.each([
    'SELECT * FROM nowhere',
    'SELECT',
    'SELECT checksum FROM prompts',
    `SELECT 'Corrupt'::INTEGER`,
    `SELECT 'No space left'::DATE`,
  ])('refuses %j as a wrong query, names the tables and changes nothing', async (sql) => {
    const file = await publish();
    const before = readFileSync(file);
    const failing = queryPublished(file, sql);
    await expect(failing).rejects.toBeInstanceOf(ConfigError);
    await expect(failing).rejects.toMatchObject({ code: 'query_failed', exitCode: 2 });
    await expect(failing).rejects.toThrow('the query failed');
    await expect(failing).rejects.toMatchObject({
      hint: expect.stringContaining('mentions, prompts') as string,
    });
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it.each([
    `SELECT * FROM read_text('/etc/passwd')`,
    `COPY (SELECT 1) TO '/tmp/sluice-should-not-be-there.csv'`,
    'INSTALL httpfs',
  ])('says of %j that query opens no other file, and how to keep a result', async (sql) => {
    const file = await publish();
    const before = readFileSync(file);
    await expect(queryPublished(file, sql)).rejects.toMatchObject({
      code: 'query_failed',
      exitCode: 2,
      message: 'query reads the published tables alone: it neither opens nor writes other files',
      hint: expect.stringContaining('--format csv') as string,
    });
    expect(existsSync('/tmp/sluice-should-not-be-there.csv')).toBe(false);
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it.each(['DROP TABLE prompts', 'INSERT INTO prompts VALUES (1)', 'CREATE TABLE other AS SELECT 1'])(
    'says of %j that query only reads, and changes nothing',
    async (sql) => {
      const file = await publish();
      const before = readFileSync(file);
      await expect(queryPublished(file, sql)).rejects.toMatchObject({
        code: 'query_failed',
        exitCode: 2,
        message: 'query only reads, and this statement writes',
        hint: expect.stringContaining('ATTACH') as string,
      });
      expect(readFileSync(file).equals(before)).toBe(true);
    },
  );

  it('says how to get the file when there is none', async () => {
    const file = join(makeTempFolder(), 'none.duckdb');
    await expect(queryPublished(file, 'SELECT 1')).rejects.toMatchObject({
      code: 'query_failed',
      exitCode: 2,
    });
    expect(existsSync(file)).toBe(false);
  });

  it('calls the file what a DuckDB program calls it', async () => {
    const file = await publish();
    const name = nameDatabase(file) ?? '';
    expect(name).not.toBe('');
    const { rows } = await queryPublished(file, `SELECT count(*)::INTEGER FROM "${name}".main.prompts`);
    expect(rows).toEqual([[10]]);
    const { rows: named } = await queryPublished(file, 'SELECT current_database()');
    expect(named).toEqual([[name]]);
  });

  it('reports columns that hold JSON by their type', async () => {
    const { columns, rows } = await queryPublished(
      await publish(),
      `SELECT '{"a":[9007199254740993]}'::JSON, [1], {'a': 1}`,
    );
    expect(columns.map(({ type }) => type)).toEqual([
      'JSON',
      'INTEGER[]',
      expect.stringMatching(/^STRUCT\(/),
    ]);
    expect(rows).toEqual([['{"a":[9007199254740993]}', '[1]', '{"a":1}']]);
  });

  it('hands on rows as they are read, and reads no more than are taken', async () => {
    const file = await publish();
    const counts: number[] = [];
    await streamPublished(file, 'FROM range(1000000000000)', {
      take: ({ columns, rows }) => {
        expect(columns).toEqual([{ name: 'range', type: 'BIGINT' }]);
        counts.push(rows.length);
        return Promise.resolve(counts.length < 3);
      },
    });
    expect(counts).toEqual([2_048, 2_048, 2_048]);
  });

  it('waits until rows are taken', async () => {
    let taking = 0;
    await streamPublished(await publish(), 'FROM range(100000)', {
      take: async () => {
        taking += 1;
        await new Promise((resolve) => setImmediate(resolve));
        expect(taking).toBe(1);
        taking -= 1;
        return true;
      },
    });
  });

  it('fails where a value behind the rows that were taken does', async () => {
    let count = 0;
    const sql = `SELECT if(range < 400000, range, error('boom')) FROM range(500000)`;
    const streaming = streamPublished(await publish(), sql, {
      take: ({ rows }) => {
        count += rows.length;
        return Promise.resolve(true);
      },
    });
    await expect(streaming).rejects.toMatchObject({ code: 'query_failed', exitCode: 2 });
    await expect(streaming).rejects.toThrow('the query failed: Invalid Input Error: boom');
    expect(count).toBeGreaterThan(0);
    await expect(queryPublished(await publish(), sql)).rejects.toThrow('boom');
  });

  it('ends with the error of the signal, also while its rows are taken', async () => {
    const stop = new AbortController();
    const stopped = new AbortedError('stopped by SIGINT', { code: 'aborted', hint: '' });
    const streaming = streamPublished(await publish(), 'FROM range(1000000000000)', {
      signal: stop.signal,
      take: () => {
        stop.abort(stopped);
        return Promise.resolve(true);
      },
    });
    await expect(streaming).rejects.toBe(stopped);
  });

  it('lets many read at once', async () => {
    const file = await publish();
    const readers = await Promise.all([openPublished(file), openPublished(file)]);
    for (const reader of readers) {
      expect(await reader.count('SELECT count(*) FROM prompts')).toBe(10);
      await reader.release();
    }
  });
});

describe('nameDatabase', () => {
  it.each([
    'warehouse.duckdb',
    'a.b.duckdb',
    'a-b c.db',
    'main.duckdb',
    'temp.duckdb',
    '.hidden.duckdb',
    'plain',
  ])('names %j as the engine does', async (base) => {
    const file = join(makeTempFolder(), base);
    const instance = await DuckDBInstance.create(file);
    const connection = await instance.connect();
    const [row] = (await connection.runAndReadAll('SELECT current_database()')).getRows();
    connection.closeSync();
    instance.closeSync();
    expect(nameDatabase(file)).toBe(row?.[0]);
  });

  it('leaves the name of the engine’s own memory alone', () => {
    expect(nameDatabase('/data/memory.duckdb')).toBeUndefined();
  });
});
