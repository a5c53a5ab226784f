import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/model/clock.ts';
import { countDays } from '../../src/warehouse/count-days.ts';
import type { Database } from '../../src/warehouse/database.ts';
import { profileTable } from '../../src/warehouse/profile-table.ts';
import { withinTime } from '../../src/warehouse/time-box.ts';
import { openTempDatabase } from '../support/temp-database.ts';

const NOW_MS = Date.UTC(2026, 10, 20, 12);

async function profile(
  database: Database,
  columns: readonly (readonly [name: string, type: string])[],
  hidden: readonly string[] = [],
) {
  return profileTable(database, 't', {
    rows: await database.count('SELECT count(*) FROM main.t'),
    columns: columns.map(([name, type]) => ({ name, type })),
    hides: (name) => (hidden.includes(name) ? 'masked' : undefined),
  });
}

describe('the profile of a table', () => {
  it('bears any value a column can hold', async () => {
    const { database } = await openTempDatabase();
    await database.run(
      `CREATE TABLE main.t AS SELECT * FROM (VALUES
         (1e308, 'infinity'::DATE, 170141183460469231731687303715884105727::HUGEINT, 'x', NULL),
         (-1e308, '-infinity'::DATE, -5::HUGEINT, repeat('y', 100000), NULL),
         ('nan'::DOUBLE, DATE '0044-03-15 (BC)', 0::HUGEINT, '', NULL),
         ('inf'::DOUBLE, DATE '2026-01-01', 7::HUGEINT, NULL, NULL)) AS v("a""b", day, big, txt, none)`,
    );
    const { columns, isSample } = await profile(database, [
      ['a"b', 'DOUBLE'],
      ['day', 'DATE'],
      ['big', 'HUGEINT'],
      ['txt', 'VARCHAR'],
      ['none', 'VARCHAR'],
      ['absent', 'NULL'],
    ]);
    expect(isSample).toBe(false);
    expect(columns.map(({ name, nulls, distinct }) => [name, nulls, distinct])).toEqual([
      ['a"b', 0, 4],
      ['day', 0, 4],
      ['big', 0, 4],
      ['txt', 1, 3],
      ['none', 4, 0],
      ['absent', 4, 0],
    ]);
    expect(columns[2]?.values).toMatchObject({ min: '-5', max: '170141183460469231731687303715884105727' });
    expect(columns[3]?.values).toEqual({ kind: 'text', shortest: 0, longest: 100_000 });
    expect(JSON.stringify(columns).length).toBeLessThan(2_000);
  });

  it('reads nothing of a hidden column but how many values there are', async () => {
    const { database } = await openTempDatabase();
    await database.run(`CREATE TABLE main.t AS SELECT 'secret' AS email FROM range(10)`);
    const { columns } = await profile(database, [['email', 'VARCHAR']], ['email']);
    expect(columns).toMatchObject([{ distinct: 1, nulls: 0, hidden: 'masked', values: undefined }]);
  });

  it('samples a large table, and says so', async () => {
    const { database } = await openTempDatabase();
    await database.run(`CREATE TABLE main.t AS SELECT i AS id, i % 3 AS kind FROM range(2000000) r(i)`);
    const { columns, isSample, rowsSeen } = await profile(database, [
      ['id', 'BIGINT'],
      ['kind', 'BIGINT'],
    ]);
    expect(isSample).toBe(true);
    expect(rowsSeen).toBeGreaterThan(500_000);
    expect(rowsSeen).toBeLessThan(1_500_000);
    const { values } = columns[1] ?? {};
    expect(values?.kind === 'few' && values.top.map(({ value }) => value).toSorted()).toEqual([
      '0',
      '1',
      '2',
    ]);
    const told = values?.kind === 'few' ? values.top.reduce((sum, { rows }) => sum + rows, values.others) : 0;
    // Thirds that are rounded one by one.
    expect(Math.abs(told - rowsSeen)).toBeLessThanOrEqual(2);
  });
});

describe('rows by day', () => {
  it('ends with the last day that is not to come, fills gaps, and counts what it does not show', async () => {
    const { database } = await openTempDatabase();
    await database.run(
      `CREATE TABLE main.t AS SELECT CAST(d AS DATE) AS day FROM (VALUES
         ('2026-11-20'), ('2026-11-20'), ('2026-11-18'), ('2020-01-01'), ('9999-12-31'), ('infinity'), (NULL)) AS v(d)`,
    );
    expect(await countDays(database, 't', { cursorColumn: undefined, mostDays: 3, nowMs: NOW_MS })).toEqual({
      column: 'day',
      counts: [
        { day: '2026-11-18', rows: 1 },
        { day: '2026-11-19', rows: 0 },
        { day: '2026-11-20', rows: 2 },
      ],
      earlier: 1,
      later: 2,
      dateless: 1,
    });
  });

  it('takes dates out of a cursor that is text, else uses the time when rows were synced', async () => {
    const { database } = await openTempDatabase();
    await database.run(
      `CREATE TABLE main.t AS SELECT d AS at, TIMESTAMPTZ '2026-11-19 23:30:00+00' AS _synced_at
         FROM (VALUES ('2026-11-18T10:00'), ('soon')) AS v(d)`,
    );
    const options = { mostDays: 90, nowMs: NOW_MS };
    expect(await countDays(database, 't', { ...options, cursorColumn: 'at' })).toMatchObject({
      column: 'at',
      counts: [{ day: '2026-11-18', rows: 1 }],
      dateless: 1,
    });
    expect(await countDays(database, 't', { ...options, cursorColumn: undefined })).toMatchObject({
      column: '_synced_at',
      counts: [{ day: '2026-11-19', rows: 2 }],
    });
    await database.run('DELETE FROM main.t');
    expect(await countDays(database, 't', { ...options, cursorColumn: undefined })).toBeUndefined();
  });
});

describe('a time box', () => {
  it('ends a statement that takes longer, and the database continues', async () => {
    const { database } = await openTempDatabase();
    const endless = () => database.run('SELECT count(*) FROM range(1000000000000) a, range(1000000) b');
    expect(await withinTime(database, { ms: 50, clock: systemClock }, endless)).toBe(false);
    expect(await database.count('SELECT 42')).toBe(42);
    expect(
      await withinTime(database, { ms: 60_000, clock: systemClock }, () => database.run('SELECT 1')),
    ).toBe(true);
  });

  it('hands on what else went wrong', async () => {
    const { database } = await openTempDatabase();
    const wrong = () => database.run('SELECT * FROM no_such_table');
    await expect(withinTime(database, { ms: 60_000, clock: systemClock }, wrong)).rejects.toThrow(
      'no_such_table',
    );
  });
});
