import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readContract, writeContract } from '../../state/checkpoints.ts';
import { listStateColumns, migrate, readMeta, schemaVersion, writeMeta } from '../../state/migrations.ts';
import { StorageError } from '../../src/model/errors.ts';
import type { LearnedColumn } from '../../src/model/stream.ts';
import { companionPath } from '../../src/schema/field-paths.ts';
import { Database } from '../../src/warehouse/database.ts';
import { openMigratedDatabase, openTempDatabase } from '../support/temp-database.ts';

async function listTables(database: Database): Promise<readonly string[]> {
  const rows = await database.all(
    `SELECT table_name AS name, string_agg(column_name, ' ' ORDER BY column_index) AS columns FROM duckdb_columns()
     WHERE schema_name = '_sluice' AND database_name = current_database() GROUP BY table_name ORDER BY 1`,
  );
  return rows.map(({ name, columns }) => `${String(name)}: ${String(columns)}`);
}

describe('migrate', () => {
  it('creates the tables of the documented surface', async () => {
    const { database } = await openMigratedDatabase();
    expect(await listTables(database)).toEqual([
      'checkpoints: stream slice fingerprint cursor_field cursor_state watermark key_fields key_origin key_proved_on last_full_scan_at last_verified_at last_verdict rows_declared run_id head rules full_refresh_due whole_at proved_from counts',
      'contracts: stream path column_name type ordinal run_id absent_since companion json_types',
      'elements: stream column_name fields run_id',
      'meta: key value',
      'quarantine: run_id stream slice page_offset row_index reason path record quarantined_at absent_since',
      'runs: run_id started_at finished_at status exit_code requests retries waited_ms rows_read rows_inserted rows_updated rows_unchanged rows_deleted rows_quarantined version',
      'schema_changes: run_id stream column_name change from_type to_type changed_at',
      'stream_runs: run_id stream slice status verdict rows_declared rows_read pages requests rescans started_at finished_at mode reasons rows_inserted rows_updated rows_unchanged rows_deleted rows_quarantined rows_in_api rows_in_table difference',
    ]);
    expect([...(await readMeta(database))]).toEqual([['schema_version', String(schemaVersion)]]);
  });

  it('gives a new file the tables that its steps would leave one by one', async () => {
    const listDefinitions = async ({ database }: { readonly database: Database }) =>
      (await database.all(`SELECT sql FROM duckdb_tables() WHERE schema_name = '_sluice' ORDER BY 1`)).map(
        ({ sql }) => String(sql),
      );
    const whole = await openMigratedDatabase();
    const stepwise = await openMigratedDatabase();
    await stepwise.database.run('DROP TABLE _sluice.elements');
    for (const [table, then] of listStateColumns(1)) {
      const now = listStateColumns().get(table) ?? [];
      for (const column of now.filter((name) => !then.includes(name)))
        await stepwise.database.run(`ALTER TABLE _sluice.${table} DROP COLUMN ${column}`);
    }
    await writeMeta(stepwise.database, 'schema_version', '1');
    expect(await listDefinitions(stepwise)).not.toEqual(await listDefinitions(whole));
    await stepwise.database.transaction(() => migrate(stepwise.database, stepwise.file));
    expect(await listDefinitions(stepwise)).toEqual(await listDefinitions(whole));
  });

  it('tells companions by a column of their own where a path said it, and takes no other name for one', async () => {
    const { database, file } = await openMigratedDatabase();
    const columns = [
      'a',
      'a\\',
      'a\\\\',
      'a\\u0000_text',
      '\\u0000_text',
      'a_text',
      'a\u0000.b',
      '"]',
      'u0000_text',
    ].flatMap((name) => [['x', name], companionPath(['x', name]), companionPath([name, 'y']), [name]]);
    const held = columns.map((path, at): LearnedColumn => ({ path, name: `c${at}`, type: 'VARCHAR' }));
    // As version 4 wrote them.
    await database.run('DROP TABLE _sluice.elements');
    for (const [table, then] of listStateColumns(4)) {
      const now = listStateColumns().get(table) ?? [];
      for (const column of now.filter((name) => !then.includes(name)))
        await database.run(`ALTER TABLE _sluice.${table} DROP COLUMN ${column}`);
    }
    for (const [at, path] of columns.entries())
      await database.run(
        `INSERT INTO _sluice.contracts VALUES ('items', $1::JSON, $2, 'VARCHAR', $3::INTEGER, 'run-1', NULL)`,
        [JSON.stringify(path), `c${at}`, at],
      );
    await writeMeta(database, 'schema_version', '4');
    expect(await readContract(database, 'items')).toEqual(held);
    await database.transaction(() => migrate(database, file));
    expect(await readContract(database, 'items')).toEqual(held);
    const stored = await database.all(
      'SELECT path::VARCHAR AS path, companion FROM _sluice.contracts ORDER BY ordinal',
    );
    expect(stored.filter(({ companion }) => companion === true)).toHaveLength(columns.length / 2);
    expect(stored.slice(0, 3)).toEqual([
      { path: '["x","a"]', companion: false },
      { path: '["x","a"]', companion: true },
      { path: '["a","y"]', companion: true },
    ]);
    // What is written since is the same.
    await database.transaction(() => writeContract(database, 'items', held, 'run-1'));
    const again = await database.all(
      'SELECT path::VARCHAR AS path, companion FROM _sluice.contracts ORDER BY ordinal',
    );
    expect(again).toEqual(stored);
  });

  it('changes nothing the second time', async () => {
    const { database, file } = await openMigratedDatabase();
    await writeMeta(database, 'generation', 'run-1');
    const before = await listTables(database);
    await database.transaction(() => migrate(database, file));
    expect(await listTables(database)).toEqual(before);
    expect(new Map(await readMeta(database))).toEqual(
      new Map([
        ['schema_version', String(schemaVersion)],
        ['generation', 'run-1'],
      ]),
    );
  });

  it.each([
    [String(schemaVersion + 1), 'newer'],
    ['999999999999999999999', 'newer'],
    ['0', 'does not say'],
    ['-1', 'does not say'],
    ['x'.repeat(1_000), 'does not say'],
    ['', 'does not say'],
    [undefined, 'does not say'],
  ])('refuses version %j and leaves the file as it was', async (version, reason) => {
    const { database, file } = await openMigratedDatabase();
    await database.run('DELETE FROM _sluice.meta');
    if (version !== undefined) await writeMeta(database, 'schema_version', version);
    await database.checkpoint();
    await database.release();
    const before = readFileSync(file);

    const again = await Database.open({ file, folders: [] });
    const migrating = again.transaction(() => migrate(again, file));
    await expect(migrating).rejects.toBeInstanceOf(StorageError);
    await expect(migrating).rejects.toMatchObject({ code: 'state_damaged', exitCode: 6 });
    await expect(migrating).rejects.toThrow(reason);
    await again.release();
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it('leaves nothing behind when it is cut off', async () => {
    const { database, file } = await openTempDatabase();
    const failing = database.transaction(async () => {
      await migrate(database, file);
      throw new Error('power cut');
    });
    await expect(failing).rejects.toThrow('power cut');
    expect(await listTables(database)).toEqual([]);
    await database.transaction(() => migrate(database, file));
    expect(await listTables(database)).toHaveLength(8);
  });
});

describe('meta', () => {
  it('keeps one value for each key', async () => {
    const { database } = await openMigratedDatabase();
    await writeMeta(database, 'base_url', 'https://a');
    await writeMeta(database, 'base_url', `https://b/?q='"`);
    expect((await readMeta(database)).get('base_url')).toBe(`https://b/?q='"`);
    expect(await database.count('SELECT count(*) FROM _sluice.meta')).toBe(2);
  });
});
