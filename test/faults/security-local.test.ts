import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { errorStatus } from '../../src/simulator/fault-effects.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { quoteIdentifier, quoteLiteral } from '../../src/warehouse/identifiers.ts';
import { queryPublished } from '../../src/warehouse/query-published.ts';
import { createSimulatorTransport } from '../support/simulator-transport.ts';
import { createItemsFlow, makeItems, unlimited } from '../support/sync-harness.ts';
import { openTempDatabase } from '../support/temp-database.ts';
import { type CliProject, createCliProject } from './kit/cli-project.ts';

const anyText = fc.string({ unit: 'binary', maxLength: 30 });

describe('a name that reaches SQL', () => {
  it('is one name, whatever its characters', async () => {
    const { database } = await openTempDatabase();
    await fc.assert(
      fc.asyncProperty(fc.array(anyText, { minLength: 1, maxLength: 20 }), async (names) => {
        const columns = names.map((name, at) => `${at} AS ${quoteIdentifier(`c${name}`)}`);
        const found = await database.query(`SELECT ${columns.join(', ')}`, 1);
        const plain = names.map((name) => `c${name}`.replaceAll('\0', '').toWellFormed());
        expect(found.columns.map(({ name }) => name)).toEqual(plain);
        expect(found.rows[0]).toEqual(names.map((_, at) => at));
      }),
    );
  });

  it('and a text that reaches SQL is one text', async () => {
    const { database } = await openTempDatabase();
    await fc.assert(
      fc.asyncProperty(fc.array(anyText, { minLength: 1, maxLength: 20 }), async (texts) => {
        const found = await database.query(
          `SELECT ${texts.map((text) => `'=' || ${quoteLiteral(text)}`).join(', ')}`,
          1,
        );
        expect(found.rows[0]).toEqual(texts.map((text) => `=${text.toWellFormed()}`));
      }),
    );
  });

  it('is quoted in one place of the sources', () => {
    const root = resolve(import.meta.dirname, '../..');
    const quoting = ['src', 'state', 'connectors'].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.name.endsWith('.ts'))
        .map((entry) => join(entry.parentPath, entry.name))
        .filter((file) => /replaceAll\((['"`])['"]\1, (['"`])(?:''|"")\2\)/.test(readFileSync(file, 'utf8'))),
    );
    // The others write CSV, and what other programs read: a dbt source, and DDL.
    expect(quoting.map((file) => relative(root, file)).toSorted()).toEqual([
      'src/contract/to-dbt.ts',
      'src/contract/to-sql.ts',
      'src/render/query-formats.ts',
      'src/warehouse/identifiers.ts',
    ]);
  });
});

describe('fields with the names of JavaScript’s own', () => {
  it('are columns, and leave every object of the process as it was', async () => {
    const texts = [
      '{"id":1,"__proto__":{"polluted":"yes"},"constructor":{"prototype":{"polluted":"yes"}},"toString":"t","hasOwnProperty":1}',
      '{"id":2,"__proto__":{"polluted":"no"},"valueOf":null,"toJSON":"x"}',
    ];
    const flow = createItemsFlow(
      texts.map((text) => JSON.parse(text) as unknown),
      { stream: { key: ['id'] } },
    );
    expect(await flow.sync()).toMatchObject({ exitCode: 0, rows: { inserted: 2 } });
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    expect(Object.getOwnPropertyNames(Object.prototype).includes('polluted')).toBe(false);
    const { rows } = await flow.table('items');
    const values = rows.map((row) => JSON.stringify(row)).join();
    for (const value of ['"yes"', '"no"', '"t"', '"x"']) expect(values).toContain(value);
  });
});

/** Statements that would read, write or change something besides the tables they are asked about. */
const forbidden = (file: string, folder: string): readonly string[] => [
  `COPY (SELECT 1) TO '${file}'`,
  `COPY (SELECT 1) TO '${file}' (USE_TMP_FILE false)`,
  `EXPLAIN ANALYZE COPY (SELECT 1) TO '${file}' (USE_TMP_FILE false)`,
  `COPY (SELECT 1) TO '${file}.wal'`,
  `COPY items TO '${folder}/out.csv'`,
  `COPY items TO '${folder}/out.parquet'`,
  `COPY items TO '/dev/stdout'`,
  `COPY items FROM '/etc/passwd'`,
  `EXPORT DATABASE '${folder}/export'`,
  `IMPORT DATABASE '${folder}/export'`,
  `ATTACH '${folder}/other.duckdb' AS other`,
  `ATTACH '${file}' AS again`,
  `ATTACH '${file}' AS again (READ_ONLY)`,
  `SELECT * FROM '${file}'`,
  `SELECT * FROM read_duckdb('${file}')`,
  `SELECT * FROM read_blob('${file}')`,
  `SELECT * FROM read_text('${folder}/notes.txt')`,
  `SELECT * FROM read_text('${folder}/link/passwd')`,
  `SELECT * FROM read_text('${folder}/../../../../../../etc/passwd')`,
  `SELECT * FROM read_text('file:///etc/passwd')`,
  `SELECT * FROM read_text('/proc/self/environ')`,
  `SELECT * FROM read_csv('/etc/passwd')`,
  `SELECT * FROM sniff_csv('/etc/passwd')`,
  `SELECT * FROM read_json('/etc/passwd')`,
  `SELECT * FROM parquet_metadata('${folder}/x.parquet')`,
  `SELECT * FROM glob('${folder}/*')`,
  `SELECT * FROM glob('/etc/*')`,
  `FROM query('SELECT * FROM read_text(''/etc/passwd'')')`,
  `SELECT * FROM 'http://127.0.0.1:9/x.csv'`,
  `SELECT * FROM read_parquet('s3://bucket/x.parquet')`,
  `SELECT getenv('HOME')`,
  `SELECT * FROM enable_logging('QueryLog', storage = 'file', storage_path = '${file}')`,
  `CALL enable_logging('QueryLog', storage = 'file', storage_path = '${folder}/log')`,
  'SELECT * FROM duckdb_secrets()',
  'CREATE SECRET s (TYPE S3)',
  'CREATE PERSISTENT SECRET s (TYPE S3)',
  'INSTALL httpfs',
  `INSTALL httpfs FROM '${folder}'`,
  'LOAD httpfs',
  `LOAD '${folder}/x.duckdb_extension'`,
  'UPDATE EXTENSIONS',
  'SET enable_external_access = true',
  'RESET enable_external_access',
  'SET lock_configuration = false',
  `SET allowed_directories = ['/']`,
  `SET disabled_filesystems = ''`,
  `SET temp_directory = '${folder}'`,
  `SET memory_limit = '1TB'`,
  `SET profiling_output = '${folder}/profile'`,
  `SET home_directory = '${folder}'`,
  `SET extension_directory = '${folder}'`,
  'SET autoinstall_known_extensions = true',
  'SET allow_unsigned_extensions = true',
  'DETACH work',
  'DROP TABLE items',
  'INSERT INTO items SELECT * FROM items',
  'UPDATE items SET name = NULL',
  'DELETE FROM items',
  'CREATE TABLE mine AS SELECT 1',
  'CREATE VIEW mine AS SELECT 1',
  'ALTER TABLE items ADD COLUMN mine INTEGER',
  'SELECT 1; DROP TABLE items',
];

describe('a query', () => {
  it('reads the published file, and reaches and changes nothing else', async () => {
    const flow = createItemsFlow(makeItems(60));
    await flow.sync();
    const { duckdbPath: file, folder } = flow;
    writeFileSync(join(folder, 'notes.txt'), 'mine');
    symlinkSync('/etc', join(folder, 'link'));
    mkdirSync(join(folder, 'export'));
    const names = () => readdirSync(folder, { recursive: true }).map(String).toSorted();
    const before = { file: readFileSync(file), names: names() };
    for (const sql of forbidden(file, folder)) {
      const end = await queryPublished(file, sql).catch((error: unknown) => error);
      expect(end, sql).toMatchObject({ exitCode: 2, code: 'query_failed' });
      expect(readFileSync(file).equals(before.file), sql).toBe(true);
      expect(names(), sql).toEqual(before.names);
    }
    expect(await queryPublished(file, 'SELECT count(*)::INTEGER AS n FROM items')).toMatchObject({
      rows: [[60]],
    });
  });
});

describe('the engine of a sync', () => {
  it('reaches its own folders alone, not by a link out of them either', async () => {
    const { database, folder, scratch } = await openTempDatabase();
    symlinkSync('/etc', join(scratch, 'link'));
    writeFileSync(join(folder, 'beside.txt'), 'x');
    for (const sql of [
      `SELECT * FROM read_text('${scratch}/link/passwd')`,
      `SELECT * FROM read_text('${scratch}/../beside.txt')`,
      `SELECT * FROM read_text('${folder}/beside.txt')`,
      `COPY (SELECT 1) TO '${scratch}x.csv'`,
      `SELECT * FROM glob('${folder}/*')`,
      'INSTALL httpfs',
      'LOAD httpfs',
      'SET enable_external_access = true',
      `SET temp_directory = '/tmp'`,
    ]) {
      await expect(database.run(sql), sql).rejects.toThrow(/Permission Error|locked|disabled|Cannot change/);
    }
  });
});

// Moves the cursor, colours, rings, titles the window, overwrites the line, turns the direction, forges a line.
const STEERING =
  '\u001b[2J\u001b]0;owned\u0007\u009b31m\rOK\u0008\u202eevil\u2066\nrun 1: complete\u0000\u007f';
const UNSAFE = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069]/;

describe('text of the API that would steer a terminal', () => {
  function createHostile(): { readonly project: CliProject; readonly fail: () => void } {
    const record = (id: number) => ({ id, [`f${STEERING}`]: STEERING, name: `${STEERING}${id}` });
    const simulator = createSimulator({
      builtIns: false,
      rateLimit: unlimited,
      endpoints: { items: { paginated: true, records: () => [record(1), record(2), STEERING, [STEERING]] } },
    });
    const project = createCliProject({
      baseUrl: 'http://127.0.0.1:9/api/v1',
      apiKey: 'demo-key-0123456789',
      config: { defaults: { maxInvalidRatio: 0.9 } },
      transport: (clock) => createSimulatorTransport(simulator, clock),
    });
    return { project, fail: () => simulator.setFaults([errorStatus(400, STEERING)]) };
  }

  it.each([
    [['sync', '--force', '--no-progress']],
    [['sync', '--force', '--log-format', 'json']],
    [['plan']],
    [['status']],
    [['runs']],
    [['check']],
    [['discover']],
    [['schema', 'show']],
    [['quarantine', 'list']],
    [['query', 'FROM items']],
    [['query', 'FROM items', '--format', 'markdown']],
    [['query', 'FROM _sluice.quarantine']],
    [['query', `SELECT * FROM "${STEERING.replaceAll(/[\0\n]/g, '')}"`]],
    [['state', 'show']],
    [['verify']],
  ])('is shown as text by %j', async (argv) => {
    const { project, fail } = createHostile();
    expect((await project.run(['sync'], { columns: 120 })).exitCode).toBe(0);
    for (const isFailing of [false, true]) {
      if (isFailing) fail();
      const { stdout, stderr } = await project.run(argv, { columns: 120, env: { NO_COLOR: '1' } });
      const shown = [...`${stdout}${stderr}`.matchAll(new RegExp(UNSAFE, 'g'))].map(([found]) =>
        found.charCodeAt(0).toString(16),
      );
      expect(shown, `${stdout}${stderr}`).toEqual([]);
      expect(`${stdout}${stderr}`).not.toMatch(/^run 1: complete/m);
    }
  });
});
