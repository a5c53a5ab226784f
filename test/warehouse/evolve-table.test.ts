import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ColumnType } from '../../src/model/schema.ts';
import type { ColumnPlan } from '../../src/schema/resolve-columns.ts';
import { Database } from '../../src/warehouse/database.ts';
import {
  clearColumn,
  dropColumn,
  evolveTable,
  readColumns,
  survivesCast,
  tableExists,
  tableName,
} from '../../src/warehouse/evolve-table.ts';
import { openTempDatabase } from '../support/temp-database.ts';

function column(name: string, type: ColumnType, existingType?: ColumnType): ColumnPlan {
  return { path: [name], name, type, existingType, takes: 0, companion: false };
}

async function describeTable(database: Database): Promise<readonly string[]> {
  const rows = await database.all(
    `SELECT column_name AS name, data_type AS type FROM duckdb_columns() WHERE table_name = 'rows' AND database_name = current_database() ORDER BY column_index`,
  );
  return rows.map(({ name, type }) => `${String(name)} ${String(type)}`);
}

const OURS = ['_run_id VARCHAR', '_synced_at TIMESTAMP WITH TIME ZONE'];

describe('evolveTable', () => {
  it('creates a table of the planned columns and ours, without those that held only nulls', async () => {
    const { database } = await openTempDatabase();
    expect(await tableExists(database, 'rows')).toBe(false);
    const changes = await evolveTable(database, { name: 'rows', exists: false }, [
      column('id', 'BIGINT'),
      column('later', 'NULL'),
      column('a "b"', 'DECIMAL(38,9)'),
      column('j', 'JSON'),
    ]);
    expect(await tableExists(database, 'rows')).toBe(true);
    expect(await describeTable(database)).toEqual(['id BIGINT', 'a "b" DECIMAL(38,9)', 'j JSON', ...OURS]);
    expect(changes).toEqual([
      { column: 'id', change: 'added', fromType: undefined, toType: 'BIGINT' },
      { column: 'a "b"', change: 'added', fromType: undefined, toType: 'DECIMAL(38,9)' },
      { column: 'j', change: 'added', fromType: undefined, toType: 'JSON' },
    ]);
  });

  it('adds and widens columns of a table that exists, before rows are written in the same transaction', async () => {
    const { database } = await openTempDatabase();
    await evolveTable(database, { name: 'rows', exists: false }, [
      column('id', 'BIGINT'),
      column('later', 'NULL'),
    ]);
    await database.run(`INSERT INTO ${tableName('rows')} (id) VALUES (9007199254740993)`);
    const changes = await database.transaction(async () => {
      const done = await evolveTable(database, { name: 'rows', exists: true }, [
        column('id', 'VARCHAR', 'BIGINT'),
        column('later', 'DATE', 'NULL'),
        column('new', 'JSON'),
        column('none', 'NULL'),
      ]);
      await database.run(`DELETE FROM ${tableName('rows')} WHERE id = 'x'`);
      await database.run(`INSERT INTO ${tableName('rows')} (id) VALUES ('x')`);
      return done;
    });
    expect(changes).toEqual([
      { column: 'id', change: 'widened', fromType: 'BIGINT', toType: 'VARCHAR' },
      { column: 'later', change: 'added', fromType: undefined, toType: 'DATE' },
      { column: 'new', change: 'added', fromType: undefined, toType: 'JSON' },
    ]);
    expect(await database.all(`SELECT id FROM main.rows ORDER BY id`)).toEqual([
      { id: '9007199254740993' },
      { id: 'x' },
    ]);
    const same = [
      column('id', 'VARCHAR', 'VARCHAR'),
      column('later', 'DATE', 'DATE'),
      column('new', 'JSON', 'JSON'),
    ];
    expect(await evolveTable(database, { name: 'rows', exists: true }, same)).toEqual([]);
  });

  it('never gives a column a default, a sequence or a constraint: the engine has lost data over them', () => {
    const risky =
      /ADD COLUMN[^`']*\b(DEFAULT|UNIQUE|CHECK|GENERATED)\b|CREATE (SEQUENCE|UNIQUE|INDEX|TYPE)|PRIMARY KEY/;
    const sources = ['src', 'state'].flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        // The ledger is a file of another engine, a fleet has its tables in Postgres, and the defaults of a table that
        // is renamed are gone in the same transaction (incoming.test.ts).
        .filter(
          (name) =>
            name.endsWith('.ts') && !/^(fleet\b|quota-ledger\.ts$|warehouse\/incoming\.ts$)/.test(name),
        )
        .map((name) => path.join(folder, name)),
    );
    const statements = (file: string) =>
      [...readFileSync(file, 'utf8').matchAll(/`[^`]*`|'[^'\n]*'/g)].map(([text]) => text);
    expect(sources.flatMap(statements).filter((text) => text.includes('ADD COLUMN')).length).toBeGreaterThan(
      3,
    );
    expect(sources.filter((file) => statements(file).some((text) => risky.test(text)))).toEqual([]);
  });

  it('leaves a file that opens again after every kind of change, committed or not', async () => {
    const { database, file, scratch } = await openTempDatabase();
    await evolveTable(database, { name: 'rows', exists: false }, [
      column('v', 'BIGINT'),
      column('d', 'DATE'),
    ]);
    await database.run(`INSERT INTO main.rows (v, d) VALUES (1, DATE '2026-01-31')`);
    await database.checkpoint();
    const steps: readonly (readonly ColumnPlan[])[] = [
      [column('j', 'JSON')],
      [column('t', 'TIMESTAMPTZ')],
      [column('b', 'BOOLEAN')],
      [column('v', 'HUGEINT', 'BIGINT')],
      [column('v', 'DECIMAL(38,2)', 'HUGEINT')],
      [column('d', 'VARCHAR', 'DATE')],
    ];
    for (const step of steps)
      await database.transaction(() => evolveTable(database, { name: 'rows', exists: true }, step));
    // The log is as a killed process leaves it: copied while it is open, and not by this process's hands.
    const { execFileSync } = await import('node:child_process');
    execFileSync('cp', [file, `${file}.wal`, scratch]);
    await database.release();
    const copy = await Database.open({ file: `${scratch}/work.duckdb`, folders: [] });
    expect(await describeTable(copy)).toEqual([
      'v DECIMAL(38,2)',
      'd VARCHAR',
      ...OURS,
      'j JSON',
      't TIMESTAMP WITH TIME ZONE',
      'b BOOLEAN',
    ]);
    expect(await copy.all('SELECT v::VARCHAR AS v, d FROM main.rows')).toEqual([
      { v: '1.00', d: '2026-01-31' },
    ]);
    await copy.release();
  });
});

describe('survivesCast', () => {
  it.each<readonly [ColumnType, string, ColumnType, boolean]>([
    ['BIGINT', '9007199254740992', 'DOUBLE', true],
    ['BIGINT', '9007199254740993', 'DOUBLE', false],
    ['BIGINT', '9223372036854775807', 'DOUBLE', false],
    ['BIGINT', '9223372036854775807', 'HUGEINT', true],
    ['BIGINT', '-9223372036854775808', 'VARCHAR', true],
    ['BIGINT', '999', 'DECIMAL(38,35)', true],
    ['BIGINT', '1000', 'DECIMAL(38,35)', false],
    ['HUGEINT', '170141183460469231731687303715884105727', 'VARCHAR', true],
    ['HUGEINT', '170141183460469231731687303715884105727', 'DECIMAL(38,0)', false],
    ['DECIMAL(38,2)', '1.25', 'DECIMAL(38,4)', true],
    ['DECIMAL(38,2)', '123456789012345678901234567890123456.25', 'DECIMAL(38,4)', false],
    ['BOOLEAN', 'true', 'VARCHAR', true],
    ['DATE', `DATE '0001-01-01'`, 'VARCHAR', true],
    ['DATE', `DATE '9999-12-31'`, 'VARCHAR', true],
  ])('says of %s %s to %s: %s', async (from, value, to, survives) => {
    const { database } = await openTempDatabase();
    await database.run(`CREATE TABLE main.rows ("v ""1""" ${from})`);
    await database.run(`INSERT INTO main.rows VALUES (NULL), (${value})`);
    expect(await survivesCast(database, 'rows', { column: 'v "1"', from, to })).toBe(survives);
  });

  it('is true of a column without values', async () => {
    const { database } = await openTempDatabase();
    await database.run('CREATE TABLE main.rows (v BIGINT)');
    await database.run('INSERT INTO main.rows VALUES (NULL)');
    expect(await survivesCast(database, 'rows', { column: 'v', from: 'BIGINT', to: 'DOUBLE' })).toBe(true);
  });
});

describe('columns of ours', () => {
  const plain = { sliced: false, softDeletes: false, history: false };
  const namesOf = async (database: Database, table = 'rows') => [
    ...(await readColumns(database, table)).keys(),
  ];

  it('are made with the table, or added once a stream needs them', async () => {
    const { database } = await openTempDatabase();
    const needs = { sliced: true, softDeletes: true, history: true };
    await evolveTable(database, { name: 'rows', exists: false }, [column('id', 'BIGINT')], needs);
    expect(await namesOf(database)).toEqual(['id', '_slice', '_run_id', '_synced_at', '_deleted_at']);
    const history = ['id', '_slice', '_run_id', '_valid_from', '_valid_to'];
    expect(await namesOf(database, 'rows_history')).toEqual(history);

    await evolveTable(database, { name: 'later', exists: false }, [column('id', 'BIGINT')]);
    expect(await namesOf(database, 'later')).toEqual(['id', '_run_id', '_synced_at']);
    expect(
      await evolveTable(database, { name: 'later', exists: true }, [column('id', 'BIGINT', 'BIGINT')], needs),
    ).toEqual([]);
    expect(await namesOf(database, 'later')).toEqual([
      'id',
      '_run_id',
      '_synced_at',
      '_slice',
      '_deleted_at',
    ]);
    expect(await namesOf(database, 'later_history')).toEqual(history);
    // Switched off, they stay.
    await evolveTable(database, { name: 'later', exists: true }, [column('id', 'BIGINT', 'BIGINT')], plain);
    expect(await namesOf(database, 'later')).toHaveLength(5);
  });

  it('are refused where a field took the name before it was ours', async () => {
    const { database } = await openTempDatabase();
    const columns = [column('_slice', 'VARCHAR')];
    await evolveTable(database, { name: 'rows', exists: false }, columns);
    const existing = [column('_slice', 'VARCHAR', 'VARCHAR')];
    await evolveTable(database, { name: 'rows', exists: true }, existing, plain);
    const refusal = evolveTable(database, { name: 'rows', exists: true }, existing, {
      ...plain,
      sliced: true,
    });
    await expect(refusal).rejects.toMatchObject({ code: 'config_invalid', exitCode: 2 });
    await expect(refusal).rejects.toThrow(/_slice, which Sluice reserves/);
  });

  it('keep a history out of a table of a stream, and a stream out of a history', async () => {
    const { database } = await openTempDatabase();
    await evolveTable(database, { name: 'rows', exists: false }, [column('id', 'BIGINT')]);
    await evolveTable(database, { name: 'rows_history', exists: false }, [column('id', 'BIGINT')]);
    const history = { ...plain, history: true };
    await expect(
      evolveTable(database, { name: 'rows', exists: true }, [column('id', 'BIGINT', 'BIGINT')], history),
    ).rejects.toThrow(/rows_history, is already used by another stream/);
    await evolveTable(database, { name: 'others', exists: false }, [column('id', 'BIGINT')], history);
    await expect(
      evolveTable(database, { name: 'others_history', exists: true }, [column('id', 'BIGINT')]),
    ).rejects.toThrow(/holds the versions of another stream's rows/);
  });
});

describe('a history', () => {
  const history = { sliced: false, softDeletes: false, history: true };

  it('follows its table while it is switched off', async () => {
    const { database } = await openTempDatabase();
    await evolveTable(database, { name: 'rows', exists: false }, [column('v', 'BIGINT')], history);
    await database.run(`INSERT INTO main.rows_history (v) VALUES (5)`);
    await database.transaction(() =>
      evolveTable(database, { name: 'rows', exists: true }, [
        column('v', 'VARCHAR', 'BIGINT'),
        column('w', 'DATE'),
      ]),
    );
    const columns = await readColumns(database, 'rows_history');
    expect([columns.get('v'), columns.get('w')]).toEqual(['VARCHAR', 'DATE']);
    expect(await database.all('SELECT v FROM main.rows_history')).toEqual([{ v: '5' }]);
  });

  it('keeps as text what a table rebuilt with a narrower type cannot hold', async () => {
    const { database } = await openTempDatabase();
    await evolveTable(database, { name: 'rows', exists: false }, [column('v', 'VARCHAR')], history);
    await database.run(`INSERT INTO main.rows_history (v) VALUES ('5'), ('five'), (NULL)`);
    for (const value of [undefined, 'six'] as const) {
      await database.run('DROP TABLE main.rows');
      await database.transaction(() =>
        evolveTable(database, { name: 'rows', exists: false }, [column('v', 'BIGINT')], history),
      );
      const seen = await database.all('SELECT v, v__text FROM main.rows_history ORDER BY ALL');
      expect(seen).toEqual([
        { v: 5n, v__text: null },
        { v: null, v__text: 'five' },
        ...(value === undefined ? [] : [{ v: null, v__text: 'six' }]),
        { v: null, v__text: null },
      ]);
      // Once more, with a companion that is there.
      await database.run('ALTER TABLE main.rows_history ALTER COLUMN v SET DATA TYPE VARCHAR');
      if (value === undefined) await database.run(`INSERT INTO main.rows_history (v) VALUES ('six')`);
    }
  });

  it('loses what its table must not have had', async () => {
    const { database } = await openTempDatabase();
    const columns = [column('id', 'BIGINT'), column('email', 'VARCHAR'), column('ssn', 'BIGINT')];
    await evolveTable(database, { name: 'rows', exists: false }, columns, history);
    for (const table of ['rows', 'rows_history'])
      await database.run(`INSERT INTO main.${table} (id, email, ssn) VALUES (1, 'a@b', 7)`);
    await database.transaction(async () => {
      await dropColumn(database, 'rows', 'email');
      await clearColumn(database, 'rows', 'ssn', 'VARCHAR');
      await evolveTable(
        database,
        { name: 'rows', exists: true },
        [column('id', 'BIGINT', 'BIGINT'), column('ssn', 'VARCHAR', 'VARCHAR')],
        history,
      );
      await database.run('UPDATE main.rows SET id = 2');
    });
    for (const table of ['rows', 'rows_history']) {
      expect((await readColumns(database, table)).has('email')).toBe(false);
      expect((await readColumns(database, table)).get('ssn')).toBe('VARCHAR');
      expect(await database.all(`SELECT ssn FROM main.${table}`)).toEqual([{ ssn: null }]);
    }
  });

  it('is asked before a column is widened', async () => {
    const { database } = await openTempDatabase();
    await evolveTable(database, { name: 'rows', exists: false }, [column('v', 'BIGINT')], history);
    expect(await survivesCast(database, 'rows', { column: 'v', from: 'BIGINT', to: 'DOUBLE' })).toBe(true);
    await database.run('INSERT INTO main.rows_history (v) VALUES (9007199254740993)');
    expect(await survivesCast(database, 'rows', { column: 'v', from: 'BIGINT', to: 'DOUBLE' })).toBe(false);
    expect(await survivesCast(database, 'rows', { column: 'v', from: 'BIGINT', to: 'HUGEINT' })).toBe(true);
  });
});
