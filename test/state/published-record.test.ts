import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readPublishedRecord, writePublishedRecord } from '../../state/published-record.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

const record = {
  path: '/data/it\'s "here".duckdb',
  device: 66306,
  inode: 9_007_199_254_740_991,
  bornAtMs: 1_769_860_800_000.25,
  generation: 'run-1',
};

describe('the published record', () => {
  it('comes back as it was written, the last one', () => {
    const folder = makeTempFolder();
    expect(readPublishedRecord(folder)).toBeUndefined();
    writePublishedRecord(folder, { ...record, generation: 'run-0' });
    writePublishedRecord(folder, record);
    expect(readPublishedRecord(folder)).toMatchObject(record);
    expect(statSync(join(folder, 'published.json')).mode & 0o777).toBe(0o600);
  });

  it.each([
    '',
    '{',
    'null',
    '{"version":2}',
    JSON.stringify({ version: 1, ...record, inode: '5' }),
    JSON.stringify(record),
  ])('is none when it reads %j', (text) => {
    const folder = makeTempFolder();
    writeFileSync(join(folder, 'published.json'), text);
    expect(readPublishedRecord(folder)).toBeUndefined();
  });
});
