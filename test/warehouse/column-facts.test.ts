import { describe, expect, it } from 'vitest';
import { findColumnsWithNulls } from '../../src/warehouse/column-facts.ts';
import { openTempDatabase } from '../support/temp-database.ts';

const ROWS = 3_000;

/** Columns by name, with the row in which each has no value. */
function writeTable(nulls: Readonly<Record<string, number | undefined>>): string {
  const cells = Object.entries(nulls).map(([name, at]) => `if(i = ${at ?? -1}, NULL, i) AS "${name}"`);
  return `SELECT ${cells.join(', ')} FROM range(${ROWS}) r(i)`;
}

describe('columns with nulls', () => {
  it('finds a null in any row, of any number of columns', async () => {
    const { database } = await openTempDatabase();
    const nulls = { 'a"b': 0, full: undefined, last: ROWS - 1, i: 7 };
    const more = Object.fromEntries(
      Array.from({ length: 120 }, (_, at) => [`c${at}`, at % 40 === 39 ? at : undefined]),
    );
    const columns = { ...nulls, ...more };
    const renamed = Object.fromEntries(
      Object.entries(columns).map(([name, at]) => [name.replace('"', '""'), at]),
    );
    await database.run(`CREATE TABLE main.t AS ${writeTable(renamed)}`);
    const found = await findColumnsWithNulls(database, 't', Object.keys(columns));
    expect([...found].toSorted()).toEqual(['a"b', 'c119', 'c39', 'c79', 'i', 'last']);
  });

  it('sees rows that are not committed, and not those that are deleted', async () => {
    const { database } = await openTempDatabase();
    await database.run(`CREATE TABLE main.t AS ${writeTable({ a: 5, b: undefined })}`);
    await database.checkpoint();
    const within = await database.transaction(async () => {
      await database.run('DELETE FROM main.t WHERE a IS NULL');
      await database.run('INSERT INTO main.t VALUES (1, NULL)');
      return findColumnsWithNulls(database, 't', ['a', 'b']);
    });
    expect([...within]).toEqual(['b']);
    expect([...(await findColumnsWithNulls(database, 't', ['a', 'b']))]).toEqual(['b']);
  });

  it('has none in an empty table', async () => {
    const { database } = await openTempDatabase();
    await database.run('CREATE TABLE main.t (a BIGINT)');
    expect([...(await findColumnsWithNulls(database, 't', ['a']))]).toEqual([]);
    expect([...(await findColumnsWithNulls(database, 't', []))]).toEqual([]);
  });
});
