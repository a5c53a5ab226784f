import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ClientColumn } from '../../src/model/client-stream.ts';
import { Database } from '../../src/warehouse/database.ts';
import { MEMORY_FILE } from '../../src/warehouse/database-options.ts';
import { describeHash } from '../../src/warehouse/row-json.ts';

const toColumns = (type: ClientColumn['type'], names: string): readonly ClientColumn[] =>
  [...names].map((name) => ({ name, type }));

describe('the hash of a row', () => {
  let database: Database;
  beforeAll(async () => {
    database = await Database.open({ file: MEMORY_FILE, folders: [] });
  });
  afterAll(() => database.release());

  /** How many rows there are of all combinations of these values in three columns, and how many hashes they have. */
  async function countHashes(type: ClientColumn['type'], values: readonly string[]) {
    const list = `(SELECT unnest([${values.map((value) => `${value}::${type}`).join(', ')}]) AS v)`;
    const hash = describeHash(toColumns(type, 'abc'));
    const rows = `SELECT x.v AS a, y.v AS b, z.v AS c FROM ${list} x, ${list} y, ${list} z`;
    const [found] = await database.all(
      `SELECT count(*)::INT AS rows, count(DISTINCT ${hash})::INT AS hashes FROM (${rows}) t`,
    );
    return found;
  }

  // Of three columns all alike: what a hash of a column has in common with others cancels out.
  it.each<[ClientColumn['type'], readonly string[]]>([
    ['BIGINT', ['NULL', '0', '1', '2', '5', '-1']],
    ['DOUBLE', ['NULL', '0', '0.1', '1', '2.5', '-1']],
    ['VARCHAR', ['NULL', `''`, `'a'`, `'b'`, `'ab'`, `'0'`]],
    ['BOOLEAN', ['NULL', 'true', 'false']],
    ['DATE', ['NULL', `'1970-01-01'`, `'2026-01-31'`, `'2026-02-01'`]],
    ['JSON', ['NULL', `'[]'`, `'{}'`, `'[1]'`, `'[2]'`]],
  ])(
    'differs for each row, also where values of %s columns are equal or change places',
    async (type, values) => {
      const rows = values.length ** 3;
      expect(await countHashes(type, values)).toEqual({ rows, hashes: rows });
    },
  );

  it('stays where a column without a value is new, and changes with the type of one', async () => {
    const [found] = await database.all(
      `SELECT ${describeHash(toColumns('BIGINT', 'a'))} AS before, ${describeHash(toColumns('BIGINT', 'ab'))} AS after,
         ${describeHash(toColumns('DOUBLE', 'a'))} AS retyped FROM (SELECT 7::BIGINT AS a, NULL::BIGINT AS b) t`,
    );
    expect(found?.['after']).toEqual(found?.['before']);
    expect(found?.['retyped']).not.toEqual(found?.['before']);
  });
});
