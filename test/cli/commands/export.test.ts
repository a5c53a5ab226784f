import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { TableExport } from '../../../src/model/reports.ts';
import { run } from '../support/capture.ts';

const exportTables = (_: unknown, { place }: { readonly place: string }): Promise<TableExport> =>
  Promise.resolve({ place, tables: [{ table: 'items', path: `${place}/items`, rows: 1_200 }] });

it('says which tables are where', async () => {
  const result = await run(['export', '--iceberg', 's3://bucket/analytics/'], { engine: { exportTables } });
  expect(result.exitCode).toBe(0);
  expect(result.stdout).toContain('items: 1,200 rows in s3://bucket/analytics/items');
});

it('gives the same as JSON', async () => {
  const result = await run(['export', '--iceberg', 's3://bucket/x', '--json'], { engine: { exportTables } });
  expect(JSON.parse(result.stdout)).toMatchObject({
    result: { place: 's3://bucket/x', tables: [{ table: 'items', rows: 1_200 }] },
  });
});

it.each([
  ['no place', [], 'export needs a place'],
  ['a place of another kind', ['--iceberg', 'md:warehouse'], 'is not a place for an export'],
  ['a bucket without a name', ['--iceberg', 's3://'], 'is not a place for an export'],
  ['a folder in a folder that is not there', ['--iceberg', '/no/such/folder'], 'does not exist'],
])('refuses %s before anything is read', async (_, args, words) => {
  const { exitCode, stderr } = await run(['export', ...args], {});
  expect(exitCode).toBe(2);
  expect(stderr).toContain(words);
});

it('refuses a file in the place of a folder', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'sluice-export-')), 'file');
  writeFileSync(file, '');
  const { exitCode, stderr } = await run(['export', '--iceberg', file], {});
  expect(exitCode).toBe(2);
  expect(stderr).toContain('is a file');
});

it('leaves no folder that it made behind where there is nothing to export', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-export-'));
  const fail = () => Promise.reject(new Error('nothing is published'));
  const place = join(folder, 'new');
  expect((await run(['export', '--iceberg', place], { engine: { exportTables: fail } })).exitCode).toBe(1);
  expect(existsSync(place)).toBe(false);
  mkdirSync(place);
  await run(['export', '--iceberg', place], { engine: { exportTables: fail } });
  expect(existsSync(place)).toBe(true);
  const inPart = (_: unknown, { place: made }: { readonly place: string }) => {
    writeFileSync(join(made, 'part'), '');
    return fail();
  };
  const other = join(folder, 'other');
  await run(['export', '--iceberg', other], { engine: { exportTables: inPart } });
  expect(existsSync(join(other, 'part'))).toBe(true);
});
