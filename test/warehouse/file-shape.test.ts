import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readColumns } from '../../src/warehouse/evolve-table.ts';
import { FileShape } from '../../src/warehouse/file-shape.ts';
import { openTempDatabase } from '../support/temp-database.ts';

const namesOf = async (database: Parameters<typeof readColumns>[0]) => [
  ...(await readColumns(database, 't')).keys(),
];

describe('the columns of a table', () => {
  it('are read once until a statement may have changed them', async () => {
    const shape = new FileShape();
    let reads = 0;
    const read = () => Promise.resolve(new Map([['a', String((reads += 1))]]));
    const look = async (sql: string) => {
      shape.follow(sql);
      await shape.columns('t', read);
      return reads;
    };
    expect(await look('SELECT 1')).toBe(1);
    for (const sql of ['INSERT INTO t VALUES (1)', 'SET threads = 1', 'CHECKPOINT "work";', ' COMMIT'])
      expect(await look(sql), sql).toBe(1);
    for (const sql of [
      'CREATE OR REPLACE TEMP TABLE "~x" AS FROM t',
      'CREATE TEMP TABLE "~x" (a INTEGER)',
      'DROP TABLE temp."~x"',
      'DROP TABLE IF EXISTS temp."~x"',
    ])
      expect(await look(sql), sql).toBe(1);
    const changes = [
      'ALTER TABLE t ADD COLUMN b INTEGER',
      'alter table t drop column b',
      'CREATE TABLE t AS SELECT 1',
      'DROP TABLE main.t',
      '\n  DROP TABLE t',
      'SELECT 1; ALTER TABLE t DROP COLUMN b',
      'DETACH work',
    ];
    for (const [at, sql] of changes.entries()) expect(await look(sql), sql).toBe(at + 2);
  });

  it('that were read while a statement changed them are read again', async () => {
    const shape = new FileShape();
    const late = shape.columns('t', () => {
      shape.follow('ALTER TABLE t ADD COLUMN b INTEGER');
      return Promise.resolve(new Map([['a', 'INTEGER']]));
    });
    expect(await late).toEqual(new Map([['a', 'INTEGER']]));
    const now = new Map([['b', 'INTEGER']]);
    expect(await shape.columns('t', () => Promise.resolve(now))).toEqual(now);
  });

  it('follow a change, also one that is rolled back or fails', async () => {
    const { database } = await openTempDatabase();
    expect(await namesOf(database)).toEqual([]);
    await database.run('CREATE TABLE t (a INTEGER)');
    expect(await namesOf(database)).toEqual(['a']);
    const failed = database.transaction(async () => {
      await database.run('ALTER TABLE t ADD COLUMN b INTEGER');
      expect(await namesOf(database)).toEqual(['a', 'b']);
      throw new Error('stop');
    });
    await expect(failed).rejects.toThrow('stop');
    expect(await namesOf(database)).toEqual(['a']);
    await expect(database.run('ALTER TABLE t DROP COLUMN z')).rejects.toThrow('z');
    expect(await namesOf(database)).toEqual(['a']);
    await database.run('ALTER TABLE t RENAME COLUMN a TO c');
    expect(await namesOf(database)).toEqual(['c']);
  });
});

describe('the log of a file', () => {
  it('is written into the file after an ALTER, which may not be replayed, and not after others', async () => {
    const { database, file } = await openTempDatabase();
    await database.run('CREATE TABLE t (a INTEGER)');
    await database.run('INSERT INTO t VALUES (1)');
    await database.run("COMMENT ON TABLE t IS 'one; it''s two; ALTER'");
    await database.run('SELECT 1 AS "a;b"');
    await database.settleLog();
    expect(existsSync(`${file}.wal`)).toBe(true);
    for (const sql of ['ALTER TABLE t ADD COLUMN b INTEGER', 'SELECT 1; ALTER TABLE t DROP COLUMN b']) {
      await database.run(sql);
      await database.settleLog();
      expect(existsSync(`${file}.wal`), sql).toBe(false);
      await database.run('INSERT INTO t (a) VALUES (1)');
      await database.settleLog();
      expect(existsSync(`${file}.wal`), sql).toBe(true);
    }
  });

  it('is written into the file where it was left by a process that was killed', async () => {
    const { database, file } = await openTempDatabase();
    await database.run('CREATE TABLE t (a INTEGER)');
    const shape = new FileShape();
    shape.opening(`${file}.other`);
    expect(shape.isLogRisky).toBe(false);
    shape.opening(file);
    expect(shape.isLogRisky).toBe(true);
    shape.settled();
    expect(shape.isLogRisky).toBe(false);
  });
});

describe('the width of the tables', () => {
  it('is at least that of the widest one, whatever makes it', () => {
    const shape = new FileShape();
    const look = (sql: string) => {
      shape.widen(sql);
      return shape.width;
    };
    expect(look('SELECT 1, 2, 3, 4')).toBe(0);
    expect(look('CREATE TEMP TABLE t AS SELECT 1, 2, 3')).toBe(0);
    expect(look('CREATE TABLE IF NOT EXISTS t (a INTEGER, b INTEGER)')).toBe(2);
    expect(look(' create or replace table t as select 1, 2, 3')).toBe(3);
    expect(look('CREATE TABLE t (a INTEGER)')).toBe(3);
    expect(look('ALTER TABLE main."t" ADD COLUMN IF NOT EXISTS d INTEGER')).toBe(4);
    expect(look('ALTER TABLE t DROP COLUMN d')).toBe(4);
  });

  it('is read where a file is opened', async () => {
    const { database } = await openTempDatabase();
    await database.run('CREATE TABLE t (a INTEGER, b DECIMAL(38, 0))');
    await database.release();
    await database.reopen();
    expect(database.shape.width).toBe(2);
  });
});
