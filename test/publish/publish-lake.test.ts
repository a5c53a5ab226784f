import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parsePartitionRule } from '../../src/model/lake.ts';
import { partitionFolder, resolvePartitions } from '../../src/publish/lake/partitions.ts';
import { openLakeWriter } from '../support/lake-writer.ts';
import { globOf, lakeTableOf, queryFiles } from '../support/read-lake.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const START_MS = Date.UTC(2026, 0, 31);
const HOUR_MS = 3_600_000;
const columns = new Map([
  ['id', 'BIGINT'],
  ['country', 'VARCHAR'],
  ['date', 'DATE'],
  ['seen', 'TIMESTAMP WITH TIME ZONE'],
  ['seen_date', 'VARCHAR'],
  ['price', 'DOUBLE'],
]);

describe('partitions', () => {
  it.each([
    ['country', { column: 'country', transform: 'identity' }],
    [' month( date ) ', { column: 'date', transform: 'month' }],
    ['year(date)', { column: 'date', transform: 'year' }],
    ['meta.id', { column: 'meta.id', transform: 'identity' }],
    ['week(date)', undefined],
    ['', undefined],
  ])('are written as %j', (text, rule) => {
    expect(parsePartitionRule(text)).toEqual(rule);
  });

  it('have a folder that is not a column of the table, unless it is their own', () => {
    const rules = [
      { column: 'date', transform: 'day' },
      { column: 'seen', transform: 'day' },
    ] as const;
    expect(resolvePartitions('items', rules, columns).map(({ folder }) => folder)).toEqual([
      'date',
      '_seen_date',
    ]);
  });

  it.each([
    [[{ column: 'price', transform: 'identity' }], /cannot be used in folder names/],
    [[{ column: 'seen', transform: 'identity' }], /cannot be used in folder names/],
    [[{ column: 'country', transform: 'month' }], /needs a date/],
    [[{ column: 'gone', transform: 'identity' }], /no column gone/],
    [
      [
        { column: 'date', transform: 'day' },
        { column: 'date', transform: 'identity' },
      ],
      /twice/,
    ],
  ] as const)('are refused for %j', (rules, message) => {
    expect(() => resolvePartitions('items', rules, columns)).toThrow(message);
  });

  it('refuse a value that no file system takes as a name', () => {
    const partitions = resolvePartitions('items', [{ column: 'country', transform: 'identity' }], columns);
    expect(() => partitionFolder('items', partitions, ['x'.repeat(300)])).toThrow(/too long/);
    expect(partitionFolder('items', partitions, ['null'])).toBe('country=%6Eull');
    expect(partitionFolder('items', partitions, [null])).toBe('country=__HIVE_DEFAULT_PARTITION__');
  });
});

describe('publishing a lake', () => {
  it('refuses more partitions than anybody can list, and writes nothing', async () => {
    const { database, lake, publish } = await openLakeWriter('date');
    await database.run(
      `INSERT INTO main.items SELECT i, DATE '1990-01-01' + i::INTEGER, 1 FROM range(10001) r(i)`,
    );
    await expect(publish()).rejects.toMatchObject({ exitCode: 2, code: 'config_invalid' });
    expect(existsSync(join(lake, 'items'))).toBe(false);
  });

  it('writes many partitions out of few sorted batches', async () => {
    const { database, lake, publish } = await openLakeWriter('date');
    const warnings: string[] = [];
    await database.run(
      `INSERT INTO main.items SELECT i, DATE '2020-01-01' + (i % 150)::INTEGER, i FROM range(3000) r(i)`,
    );
    await database.run('INSERT INTO main.items VALUES (9000, NULL, 1)');
    expect(await publish({ warn: (message) => void warnings.push(message) })).toMatchObject({ files: 151 });
    expect(warnings).toEqual([]);
    const [row] = await queryFiles(
      `SELECT count(*) AS n, count(DISTINCT date) AS days, sum(amount) AS sum FROM ${globOf(lake)}`,
    );
    expect(row).toEqual({ n: '3001', days: '150', sum: String((2999 * 3000) / 2 + 1) });
    for (const { rows, range } of lakeTableOf(lake).files.slice(0, 3)) {
      expect(rows).toBe(20);
      expect(Number(range['id']?.[1]) - Number(range['id']?.[0])).toBe(2850);
    }
  });

  it('deletes what was taken out of a table once the grace time is over, without a change', async () => {
    const clock = createVirtualClock({ startMs: START_MS });
    const { database, lake, publish, generations } = await openLakeWriter('date', clock);
    await database.run(`INSERT INTO main.items VALUES (1, '2026-01-01', 42)`);
    await publish();
    await database.run('ALTER TABLE main.items DROP COLUMN amount');
    await publish({ commit: 'masked', mustForget: true });
    expect(generations()).toHaveLength(2);
    await clock.sleep(2 * HOUR_MS);
    expect(await publish({ commit: 'masked' })).toBeUndefined();
    expect(generations()).toHaveLength(1);
    expect(lakeTableOf(lake).retired).toEqual([]);
  });

  it('takes a table away that is no longer there, and knows its field ids when it comes back', async () => {
    const clock = createVirtualClock({ startMs: START_MS });
    const { database, lake, publish } = await openLakeWriter('date', clock);
    await database.run(`INSERT INTO main.items VALUES (1, '2026-01-01', 42)`);
    await publish();
    await publish({ tables: [] });
    expect(existsSync(join(lake, 'items', 'current'))).toBe(false);
    await clock.sleep(2 * HOUR_MS);
    await publish({ tables: [], commit: 'later' });
    expect(readdirSync(join(lake, '_generations', 'items'))).toEqual([]);
    await database.run('CREATE OR REPLACE TABLE main.items (date DATE, other BIGINT, id BIGINT)');
    await publish();
    const ids = lakeTableOf(lake).columns.map(({ name, fieldId }) => [name, fieldId]);
    expect(ids).toEqual([
      ['date', undefined],
      ['other', 3],
      ['id', 1],
    ]);
  });

  it('removes generations that a killed run began, and leaves what somebody else put there', async () => {
    const { database, lake, publish } = await openLakeWriter('none');
    await database.run(`INSERT INTO main.items VALUES (1, '2026-01-01', 42)`);
    await publish();
    const folder = join(lake, '_generations', 'items');
    symlinkSync('nowhere', join(folder, '.20260101T000000000Z-0a1b2c3d.tmp'));
    symlinkSync('nowhere', join(folder, 'backup'));
    await publish();
    expect(readdirSync(folder)).toEqual([lakeTableOf(lake).generation, 'backup']);
  });

  it('says what to do about a manifest that is damaged', async () => {
    const { database, lake, publish } = await openLakeWriter('none');
    await database.run(`INSERT INTO main.items VALUES (1, '2026-01-01', 42)`);
    await publish();
    const manifest = join(lake, 'manifest.json');
    const whole = readFileSync(manifest, 'utf8');
    writeFileSync(manifest, whole.slice(0, 100));
    await expect(publish()).rejects.toMatchObject({ exitCode: 2, code: 'publish_refused' });
  });
});
