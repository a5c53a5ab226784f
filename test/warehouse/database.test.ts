import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { AbortedError, BugError, LockedError, StorageError } from '../../src/model/errors.ts';
import { buildLostLockError } from '../../src/model/state-lock.ts';
import { Database } from '../../src/warehouse/database.ts';
import { DamagedFileError, wrapDatabaseError } from '../../src/warehouse/database-errors.ts';
import { quoteIdentifier, quoteLiteral } from '../../src/warehouse/identifiers.ts';
import { oddNames, oddStrings } from '../support/hostile-rows.ts';
import { openTempDatabase } from '../support/temp-database.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

const run = promisify(execFile);

const ENDLESS = 'SELECT count(*) FROM range(100000000000) a(i), range(1000000) b(j) WHERE (i * j) % 7 = 3';

describe('wrapDatabaseError', () => {
  it.each([
    [
      'IO Error: Could not set lock on file "/x": Conflicting lock is held in /usr/bin/python3 (PID 42)',
      75,
      'state_locked',
    ],
    ['INTERRUPT Error: Interrupted!', 130, 'aborted'],
    [
      'TransactionContext Error: Failed to commit: Could not write file "/x.wal": No space left on device',
      6,
      'storage_failed',
    ],
    [
      'FATAL Error: Failed to create checkpoint because of error: Could not write file "/x": File too large',
      6,
      'storage_failed',
    ],
    ['IO Error: Could not read from file "/x": Input/output error', 6, 'storage_failed'],
    ['IO Error: Could not read from file "/x": Is a directory', 6, 'storage_failed'],
    ['IO Error: Could not read from file "/state/work.duckdb": Is a directory', 6, 'state_damaged'],
    ['Out of Memory Error: could not allocate block of size 16.0 KiB', 6, 'storage_failed'],
    [
      'TransactionContext Error: Failed to commit: could not allocate block of size 256.0 KiB',
      6,
      'storage_failed',
    ],
    ['IO Error: The file "/x" exists, but it is not a valid DuckDB database file!', 6, 'state_damaged'],
    [
      'IO Error: Corrupt database file: computed checksum 1 does not match stored checksum 2',
      6,
      'state_damaged',
    ],
    [
      'IO Error: Trying to read a database file with version number 99, but we can only read versions between 64 and 68.',
      6,
      'state_damaged',
    ],
    ['INTERNAL Error: Failure while replaying WAL file "/x.wal": y', 6, 'state_damaged'],
    ['Catalog Error: Failure while replaying WAL file "/x.wal": y', 6, 'state_damaged'],
    [
      'IO Error: Could not read enough bytes from file "/state/work.duckdb": attempted to read 4096 bytes from location 8192',
      6,
      'state_damaged',
    ],
    [
      'IO Error: Could not read enough bytes from file "/state/tmp/duckdb_temp_storage-0.tmp": attempted to read 9 bytes',
      6,
      'storage_failed',
    ],
    [
      'IO Error: Failure while replaying WAL file "/x.wal": Could not read from file "/x.wal": Input/output error',
      6,
      'storage_failed',
    ],
    ['IO Error: Failure while replaying WAL file "/x.wal": Out of Memory Error: x', 6, 'storage_failed'],
    ['IO Error: Cannot open file "/x": Too many open files', 6, 'storage_failed'],
    ['IO Error: Cannot open file "/x": Permission denied', 6, 'storage_failed'],
    ['IO Error: something new about files', 6, 'storage_failed'],
    ['FATAL Error: database has been invalidated because of a previous fatal error', 6, 'storage_failed'],
    ['Catalog Error: Table with name x does not exist!', 1, 'bug'],
    ['Binder Error: Referenced column "checksum" not found in FROM clause!', 1, 'bug'],
    ['Parser Error: syntax error at or near "Corrupt"', 1, 'bug'],
    ['Conversion Error: Could not convert string "No space left" to INT32', 1, 'bug'],
    ['Invalid Input Error: "INTERRUPT version number"', 1, 'bug'],
    ['something nobody has seen', 1, 'bug'],
  ])('puts %j to exit code %i, %s', (message, exitCode, code) => {
    const cause = new Error(message);
    const error = wrapDatabaseError(cause, '/state/work.duckdb');
    expect([error.exitCode, error.code]).toEqual([exitCode, code]);
    expect(error.cause).toBe(cause);
    expect(error.hint).not.toBe('');
  });

  it("leaves out where in the engine's code an internal error came from", () => {
    const thrown = new Error('INTERNAL Error: an index\n\nStack Trace:\n\n/lib/libduckdb.so(_ZN6duckdb)');
    const { message } = wrapDatabaseError(thrown, '/state/work.duckdb');
    expect(message).toBe('the warehouse rejected a statement: INTERNAL Error: an index');
  });

  it.each([
    ['IO Error: Corrupt database file: computed checksum 1 does not match stored checksum 2', true],
    ['IO Error: Trying to read a database file with version number 99, but we can only read x', false],
    ['FATAL Error: database has been invalidated because of a previous fatal error', false],
    ['IO Error: Could not read from file "/x": Input/output error', false],
  ])('of %j counts as damage: %s', (message, isDamage) => {
    const error = wrapDatabaseError(new Error(message), '/state/work.duckdb');
    expect(error instanceof DamagedFileError).toBe(isDamage);
  });

  it('names the program that holds the file', () => {
    const message =
      'IO Error: Could not set lock on file "/x": Conflicting lock is held in /usr/bin/python3 (PID 42).';
    expect(wrapDatabaseError(new Error(message), '/x').message).toBe(
      '/x is open in another process: /usr/bin/python3 (PID 42)',
    );
  });

  it('leaves errors of ours as they are', () => {
    const error = new StorageError('x', { code: 'storage_failed', hint: 'y' });
    expect(wrapDatabaseError(error, '/x')).toBe(error);
    expect(wrapDatabaseError('a string', '/x').message).toContain('a string');
  });
});

describe('opening', () => {
  it.each([
    ['text', 'this is no database, but long enough to be one: '.repeat(400)],
    ['zeros', Buffer.alloc(20_000)],
    ['a few bytes', 'DUCK'],
  ])('refuses %s and leaves it as it was', async (_, content) => {
    const folder = makeTempFolder();
    const file = join(folder, 'work.duckdb');
    writeFileSync(file, content);
    const opened = Database.open({ file, folders: [folder] });
    await expect(opened).rejects.toBeInstanceOf(StorageError);
    await expect(opened).rejects.toMatchObject({ code: 'state_damaged', exitCode: 6 });
    expect(readFileSync(file)).toEqual(Buffer.from(content));
  });

  it('refuses a file that another process holds, and names it', async () => {
    const { file, database } = await openTempDatabase();
    await database.run('CREATE TABLE t (i INTEGER)');
    const script = `
      import { Database } from ${JSON.stringify(join(import.meta.dirname, '../../src/warehouse/database.ts'))};
      await Database.open({ file: process.argv[1], folders: [] }).then(
        () => console.log('opened'),
        (error) => console.log(JSON.stringify([error.name, error.code, error.exitCode, error.message])),
      );`;
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script, file]);
    const [name, code, exitCode, message] = JSON.parse(stdout) as [string, string, number, string];
    expect([name, code, exitCode]).toEqual([LockedError.name, 'state_locked', 75]);
    expect(message).toContain(`(PID ${process.pid})`);
  });

  it('does not create a file it only reads', async () => {
    const folder = makeTempFolder();
    const file = join(folder, 'missing.duckdb');
    await expect(Database.open({ file, readOnly: true, folders: [] })).rejects.toThrow();
    expect(readdirSync(folder)).toEqual([]);
  });

  it.each(["it's", 'sp ace', 'ünï', '"quoted"', '; DROP', '$x'])(
    'works in a folder called %j',
    async (name) => {
      const folder = join(makeTempFolder(), name);
      mkdirSync(folder);
      const database = await Database.open({ file: join(folder, 'work.duckdb'), folders: [folder] });
      await database.run(`COPY (SELECT 1 AS a) TO ${quoteLiteral(join(folder, 'x.csv'))}`);
      await database.release();
      expect(readdirSync(folder).toSorted()).toEqual(['work.duckdb', 'x.csv']);
    },
  );
});

describe('a statement', () => {
  it.each([
    [`SELECT * FROM read_text('/etc/passwd')`, 'Permission Error'],
    [`SELECT * FROM read_csv('/etc/passwd')`, 'Permission Error'],
    [`SELECT * FROM '/etc/passwd'`, 'Error'],
    [`SELECT * FROM glob('/etc/*')`, 'Permission Error'],
    [`ATTACH '/tmp/sluice-elsewhere.duckdb' AS elsewhere`, 'Permission Error'],
    [`COPY (SELECT 1) TO '/tmp/sluice-elsewhere.csv'`, 'Permission Error'],
    [`EXPORT DATABASE '/tmp/sluice-elsewhere'`, 'Permission Error'],
    ['INSTALL httpfs', 'Permission Error'],
    ['LOAD httpfs', 'Permission Error'],
    [`SELECT * FROM 'https://example.com/x.parquet'`, 'Error'],
    ['SET enable_external_access = true', 'locked'],
    ['RESET enable_external_access', 'locked'],
    [`SET allowed_directories = ['/']`, 'Error'],
    [`SET lock_configuration = false`, 'locked'],
    [`PRAGMA temp_directory = '/tmp'`, 'locked'],
  ])('cannot leave the file: %s', async (sql, reason) => {
    const { database } = await openTempDatabase();
    await expect(database.run(sql)).rejects.toThrow(reason);
    await expect(database.run(sql)).rejects.toBeInstanceOf(BugError);
    expect(existsSync('/tmp/sluice-elsewhere.csv')).toBe(false);
    expect(existsSync('/tmp/sluice-elsewhere.duckdb')).toBe(false);
  });

  it('may use the folders it was given, and nothing above them', async () => {
    const { database, scratch } = await openTempDatabase();
    await database.run(`COPY (SELECT 7 AS a) TO '${scratch}/x.csv'`);
    expect(await database.count(`SELECT a FROM read_csv('${scratch}/x.csv')`)).toBe(7);
    await expect(database.run(`COPY (SELECT 1) TO '${scratch}/../x.csv'`)).rejects.toThrow(
      'Permission Error',
    );
  });

  it('that runs long rejects when it is interrupted, and the file can then be released', async () => {
    const { database, file } = await openTempDatabase();
    await database.run('CREATE TABLE t AS SELECT 1 AS i');
    const running = database.transaction(async () => {
      await database.run('INSERT INTO t VALUES (2)');
      const statement = database.run(ENDLESS);
      database.interrupt();
      await statement;
    });
    await expect(running).rejects.toBeInstanceOf(AbortedError);
    database.proceed();
    expect(await database.count('SELECT count(*) FROM t')).toBe(1);
    await database.release();
    const again = await Database.open({ file, folders: [] });
    expect(await again.count('SELECT count(*) FROM t')).toBe(1);
    await again.release();
  });

  it('that has only just been given to the engine is interrupted as well', async () => {
    const { database } = await openTempDatabase();
    for (let round = 0; round < 20; round += 1) {
      const running = database.run(ENDLESS);
      database.interrupt();
      await expect(running).rejects.toMatchObject({ code: 'aborted' });
      database.proceed();
    }
  });

  it('that follows an interrupt is refused until work may proceed, but a transaction is rolled back', async () => {
    const { database } = await openTempDatabase();
    await database.run('CREATE TABLE t (a INTEGER)');
    const stopped = database.transaction(async () => {
      await database.run('INSERT INTO t VALUES (1)');
      database.interrupt();
      await database.run('INSERT INTO t VALUES (2)');
    });
    await expect(stopped).rejects.toMatchObject({ code: 'aborted', exitCode: 130 });
    database.proceed();
    await database.transaction(() => database.run('INSERT INTO t VALUES (3)'));
    expect(await database.all('SELECT a FROM t')).toEqual([{ a: 3 }]);
  });

  it('that is interrupted because of the signal that ends all work fails with the error of that signal', async () => {
    const ending = new AbortController();
    const lost = buildLostLockError('/state');
    const database = await Database.open({
      file: join(makeTempFolder(), 'work.duckdb'),
      folders: [],
      endedBy: ending.signal,
    });
    const running = database.run(ENDLESS);
    ending.abort(lost);
    database.interrupt();
    await expect(running).rejects.toBe(lost);
    await expect(database.run('SELECT 1')).rejects.toBe(lost);
    await database.release();
  });

  it('that still runs is waited for by release', async () => {
    const { database } = await openTempDatabase();
    const running = database.all(ENDLESS).catch((error: unknown) => error);
    const released = database.release();
    database.interrupt();
    await released;
    expect(await running).toBeInstanceOf(AbortedError);
  });

  it('in a transaction that fails leaves nothing behind, and the first error is reported', async () => {
    const { database } = await openTempDatabase();
    await database.run('CREATE TABLE t (i INTEGER)');
    const failing = database.transaction(async () => {
      await database.run('INSERT INTO t VALUES (1)');
      await database.run('SELECT nothing');
    });
    await expect(failing).rejects.toThrow('nothing');
    expect(await database.count('SELECT count(*) FROM t')).toBe(0);
    await database.transaction(() => database.run('INSERT INTO t VALUES (2)'));
    expect(await database.count('SELECT i FROM t')).toBe(2);
  });
});

describe('a database', () => {
  it('leaves nothing but its file behind, the log written into it', async () => {
    const { database, folder, scratch } = await openTempDatabase();
    await database.run('CREATE TABLE t AS SELECT range AS i FROM range(100000)');
    await database.checkpoint();
    await database.release();
    expect(readdirSync(folder).toSorted()).toEqual(['scratch', 'work.duckdb']);
    expect(readdirSync(scratch)).toEqual([]);
  });

  it('never spills into the folder the process is in', async () => {
    const { database, file, scratch } = await openTempDatabase();
    const setting = `SELECT current_setting('temp_directory') AS folder`;
    const [{ folder } = {}] = await database.all(setting);
    expect(dirname(String(folder))).toBe(scratch);
    await database.release();
    const reader = await Database.open({ file, readOnly: true, folders: [] });
    // A reader spills nowhere: it may open no file.
    expect(await reader.all(setting)).toEqual([{ folder: '' }]);
    await reader.release();
    expect(existsSync('.tmp')).toBe(false);
  });

  it('writes files that DuckDB 1.4 and later read', async () => {
    const { database, file } = await openTempDatabase();
    await database.run('CREATE TABLE t AS SELECT 1 AS i');
    await database.checkpoint();
    await database.release();
    expect(readFileSync(file).readBigUInt64LE(12)).toBe(67n);
  });

  it('may be released twice', async () => {
    const { database } = await openTempDatabase();
    await database.release();
    await database.release();
  });

  it('gives results as columns and JSON-safe scalars, at most so many rows', async () => {
    const { database } = await openTempDatabase();
    const result = await database.query(
      `SELECT i AS n, 9007199254740993::BIGINT AS big, 0.5 AS d, 1.50::DECIMAL(10,2) AS e, [1, 2] AS l, NULL AS none,
         DATE '2026-01-31' AS day, TIMESTAMPTZ '2026-01-31 12:00:00+01' AS at, true AS b, '{"a":1}'::JSON AS j
       FROM range(5) t(i)`,
      2,
    );
    expect(result.columns.map(({ name }) => name)).toEqual([
      'n',
      'big',
      'd',
      'e',
      'l',
      'none',
      'day',
      'at',
      'b',
      'j',
    ]);
    expect(result.rows).toHaveLength(2);
    const [row = []] = result.rows;
    expect(row.slice(1)).toEqual([
      '9007199254740993',
      expect.anything(),
      '1.50',
      expect.stringMatching(/^\["?1"?,"?2"?\]$/),
      null,
      '2026-01-31',
      expect.stringContaining('2026-01-31 11:00:00'),
      true,
      '{"a":1}',
    ]);
  });
});

/** A query with a value that fails far behind its first rows. */
const FAILS_LATE = `SELECT CAST(if(range < 400000, '1', 'x') AS BIGINT) AS n FROM range(500000)`;

describe('a result that fails halfway', () => {
  it('never looks complete, however it is read', async () => {
    const { database } = await openTempDatabase();
    const failure = `Conversion Error: Could not convert string 'x' to INT64`;
    await expect(database.query(FAILS_LATE, Infinity)).rejects.toThrow(failure);
    await expect(drain(database.stream(FAILS_LATE))).rejects.toThrow(failure);
    await expect(drain(database.streamRows(FAILS_LATE))).rejects.toThrow(failure);
    expect((await database.query(FAILS_LATE, 10)).rows).toHaveLength(10);
  });

  it('quotes no statement but that of the caller', async () => {
    const { database } = await openTempDatabase();
    await expect(drain(database.stream(FAILS_LATE))).rejects.toThrow(/ to INT64$/);
  });

  it('because it was interrupted is not complete either, and the next step is refused', async () => {
    const { database } = await openTempDatabase();
    const portions = database.streamRows('FROM range(100000000000)');
    expect((await portions.next()).done).toBe(false);
    database.interrupt();
    await expect(drain(portions)).rejects.toBeInstanceOf(AbortedError);
    database.proceed();
    const running = drain(database.streamRows('FROM range(100000000000)'));
    setImmediate(() => database.interrupt());
    await expect(running).rejects.toBeInstanceOf(AbortedError);
  });

  it('has one portion without rows if it has none', async () => {
    const { database } = await openTempDatabase();
    expect(await drain(database.streamRows('SELECT 1::INTEGER AS a WHERE false'))).toEqual({
      columns: [{ name: 'a', type: 'INTEGER' }],
      rows: [],
    });
  });
});

/** Reads all portions and returns the last one. */
async function drain<T>(portions: AsyncGenerator<T>): Promise<T | undefined> {
  let last: T | undefined;
  for await (const portion of portions) last = portion;
  return last;
}

describe('quoting', () => {
  it('makes any text a name', async () => {
    const { database } = await openTempDatabase();
    for (const name of [...oddNames, ...oddStrings]) {
      const plain = name.replaceAll('\u0000', '').toWellFormed();
      if (plain === '') continue;
      const { columns } = await database.query(`SELECT 1 AS ${quoteIdentifier(name)}`, 1);
      expect(columns.map((column) => column.name)).toEqual([plain]);
    }
  });

  it('makes any text a string', async () => {
    const { database } = await openTempDatabase();
    for (const text of [...oddNames, ...oddStrings]) {
      const [row] = await database.all(`SELECT '=' || ${quoteLiteral(text)} AS v`);
      expect(row?.['v']).toBe(`=${text.toWellFormed()}`);
    }
  });
});
