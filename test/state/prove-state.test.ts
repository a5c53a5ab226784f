import { describe, expect, it } from 'vitest';
import type { SqlSession } from '../../src/model/sql.ts';
import { migrate } from '../../state/migrations.ts';
import { proveState } from '../../state/prove-state.ts';
import { openTempDatabase } from '../support/temp-database.ts';

async function openState() {
  const { database, file } = await openTempDatabase();
  await database.transaction(() => migrate(database, file));
  return { database, file };
}

describe('the tables of a state', () => {
  it('are proved without a look at the columns of every view', async () => {
    const { database, file } = await openState();
    const statements: string[] = [];
    const session: SqlSession = {
      run: (sql, values) => database.run(sql, values),
      all: (sql, values) => {
        statements.push(sql);
        return database.all(sql, values);
      },
    };
    await proveState(session, file);
    expect(statements.length).toBeGreaterThan(0);
    expect(statements.filter((sql) => sql.includes('duckdb_columns'))).toEqual([]);
  });

  it.each([
    [
      'a column less',
      'ALTER TABLE _sluice.meta DROP COLUMN value',
      'meta has key columns instead of key, value',
    ],
    ['one more', 'ALTER TABLE _sluice.meta ADD COLUMN x INTEGER', 'key, value, x'],
    ['one of a name with a comma', 'ALTER TABLE _sluice.meta ADD COLUMN "x, y" INTEGER', 'key, value, x, y'],
    [
      'another order',
      'CREATE OR REPLACE TABLE _sluice.meta (value VARCHAR, key VARCHAR)',
      'value, key columns instead',
    ],
    [
      'a default that reads like a column',
      `CREATE OR REPLACE TABLE _sluice.meta (key VARCHAR DEFAULT 'a, value VARCHAR')`,
      'meta has key columns instead',
    ],
    ['a missing table', 'DROP TABLE _sluice.meta', 'meta has no columns instead'],
  ])('are refused with %s', async (_, sql, message) => {
    const { database, file } = await openState();
    await database.run(sql);
    await expect(proveState(database, file)).rejects.toThrow(message);
  });

  it('pass with names that are quoted and with defaults', async () => {
    const { database, file } = await openState();
    await database.run(
      `CREATE OR REPLACE TABLE _sluice.meta (key VARCHAR DEFAULT 'a, b', value DECIMAL(9, 2))`,
    );
    await proveState(database, file);
    expect(await database.all('FROM _sluice.meta')).toEqual([]);
  });
});
