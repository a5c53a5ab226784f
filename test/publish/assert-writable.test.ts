import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { assertWritable } from '../../src/publish/assert-writable.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

/** Root may write everywhere: what the system refuses is played. */
function refuse(folder: string, code: string, refused: string) {
  vi.spyOn(fs, 'accessSync').mockImplementation((path) => {
    if (path === refused) throw Object.assign(new Error(code), { code });
  });
  syncBuiltinESMExports();
  return () => assertWritable({ folder, what: 'w.duckdb', instead: 'destination.duckdb to another file' });
}

describe('assertWritable', () => {
  it('refuses a folder without permission, and one that cannot be created', () => {
    const folder = makeTempFolder();
    const fix =
      'Fix the permissions of the folder, or set destination.duckdb to another file. Nothing was requested.';
    expect(refuse(folder, 'EACCES', folder)).toThrow(
      expect.objectContaining({
        message: `cannot write into ${folder}, where w.duckdb is to be published`,
        hint: fix,
      }),
    );
    const deep = join(folder, 'a/b');
    expect(refuse(deep, 'EACCES', folder)).toThrow(
      expect.objectContaining({
        message: `cannot create ${deep} in ${folder}, where w.duckdb is to be published`,
        hint: fix,
      }),
    );
  });

  it('names a read-only file system, and lets pass what can be written', () => {
    const folder = makeTempFolder();
    expect(refuse(folder, 'EROFS', folder)).toThrow(
      expect.objectContaining({
        hint: expect.stringMatching(/^It is on a read-only file system: mount/) as string,
      }),
    );
    expect(refuse(folder, 'EACCES', '/elsewhere')).not.toThrow();
  });
});
