import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { isStateFile } from '../../src/storage/state-files.ts';

/** Names that the sources write directly into a state folder. */
const written = globSync(['src/**/*.ts', 'state/*.ts'])
  .flatMap((file) => [
    ...readFileSync(file, 'utf8').matchAll(/\bjoin\((?:this\.#)?(?:settings\.)?stateDir, '([\w.-]+)'/g),
  ])
  .map(([, name = '']) => name);

it('knows every file and folder that the sources write into a state folder', () => {
  expect(new Set(written).size).toBeGreaterThan(10);
  const unknown = written.filter((name) => !isStateFile(name, name.includes('.') ? 'file' : 'folder'));
  expect(unknown).toEqual([]);
});

it.each([
  'work.duckdb',
  'work.duckdb.wal',
  'work.duckdb.damaged-20261120T080000Z-2.wal.recovery',
  'stage/prompts.0123456789abcdef/pages.ndjson',
  'stage/prompts/body',
  'tmp/duckdb_temp_storage_DEFAULT-0.tmp',
  'archive/prompts/whole/20261123T095753795Z-542bb4041b3d.json.pending',
  'archive/prompts/whole/6e788939e095fcf32deb97a454c2fb3b.ndjson.zst',
  'verify-4711/stage/prompts/scan.json',
  'quota/quota-0123abcd.db',
])('knows %s', (path) => {
  expect(isStateFile(path, 'file')).toBe(true);
});

it.each([
  'notes.txt',
  'work.duckdb.bak',
  'stage/notes.txt',
  'tmp/mine/a.csv',
  'archive/prompts/whole/report.xlsx',
  'mine/scan.json',
  'quota/quota.xlsx',
])('does not know %s', (path) => {
  expect(isStateFile(path, 'file')).toBe(false);
});

it('takes a link for nobody of ours', () => {
  expect(isStateFile('totals.json', 'symlink')).toBe(false);
});
