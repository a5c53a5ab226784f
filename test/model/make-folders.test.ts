import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeFolders } from '../../src/files/make-folders.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

describe('folders that are made', () => {
  it('come with those above them, each with the mode, and name the first one', () => {
    const root = makeTempFolder();
    const folder = join(root, 'a', 'b', 'c');
    expect(makeFolders(folder, 0o700)).toBe(join(root, 'a'));
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(makeFolders(folder, 0o700)).toBeUndefined();
    expect(makeFolders(join(folder, 'd'))).toBe(join(folder, 'd'));
  });

  it('are refused below a file', () => {
    const file = join(makeTempFolder(), 'file');
    writeFileSync(file, '');
    expect(() => makeFolders(join(file, 'a', 'b'))).toThrow(/ENOTDIR|EEXIST/);
    expect(() => makeFolders(file)).toThrow(/EEXIST/);
  });

  it.runIf(existsSync('/proc'))('are refused at once where the file system takes none', () => {
    expect(() => makeFolders('/proc/sluice/a')).toThrow(/ENOENT/);
  });
});
