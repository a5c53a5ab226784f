import { chmodSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type CacheSurroundings, findCacheFolder } from '../../src/cli/compile-cache.ts';
import { cliEntry } from '../support/cli-entry.ts';
import { startNode, waitForEnd } from '../support/run-node.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

const hasOwners = process.geteuid !== undefined;

function makeHome(mode = 0o700): string {
  const home = makeTempFolder();
  mkdirSync(join(home, '.cache'));
  chmodSync(join(home, '.cache'), mode);
  return home;
}

function find(home: string, parts: Partial<CacheSurroundings> = {}): string | undefined {
  const userId = process.geteuid?.();
  return findCacheFolder({ env: {}, platform: 'linux', userId, home: () => home, ...parts });
}

describe('the folder for compiled code', () => {
  it("is below the user's folder for caches, for this user only", () => {
    const home = makeHome();
    const folder = find(home);
    expect(folder).toBe(join(home, '.cache/sluice/compiled'));
    expect(find(home)).toBe(folder);
    for (const made of [join(home, '.cache/sluice'), folder ?? ''])
      expect(statSync(made).mode & 0o777).toBe(0o700);
  });

  it('is where the system has it', () => {
    const home = makeHome();
    const at = join(makeHome(), '.cache');
    expect(find(home, { env: { XDG_CACHE_HOME: at } })).toBe(join(at, 'sluice/compiled'));
    expect(find(home, { env: { XDG_CACHE_HOME: 'relative' } })).toBe(join(home, '.cache/sluice/compiled'));
    expect(find(home, { platform: 'darwin' })).toBe(join(home, 'Library/Caches/sluice/compiled'));
    const windows = { platform: 'win32', userId: undefined } as const;
    expect(find(home, windows)).toBe(join(home, 'AppData/Local/sluice/compiled'));
    expect(find(home, { ...windows, env: { LOCALAPPDATA: at } })).toBe(join(at, 'sluice/compiled'));
  });

  it.each(['NODE_DISABLE_COMPILE_CACHE', 'NODE_COMPILE_CACHE'])('is none where %s is set', (name) => {
    const home = makeHome();
    expect(find(home, { env: { [name]: '1' } })).toBeUndefined();
    expect(readdirSync(join(home, '.cache'))).toEqual([]);
  });

  it.runIf(hasOwners)('is none where others may write it, or what it is in', () => {
    expect(find(makeHome(0o777))).toBeUndefined();
    expect(find(makeHome(0o1777))).toBeUndefined();
    for (const inner of ['.cache/sluice', '.cache/sluice/compiled']) {
      const home = makeHome();
      mkdirSync(join(home, inner), { recursive: true });
      chmodSync(join(home, inner), 0o770);
      expect(find(home)).toBeUndefined();
    }
  });

  it.runIf(hasOwners)("is none where it is another user's", () => {
    const home = makeHome();
    expect(find(home, { userId: (process.geteuid?.() ?? 0) + 1 })).toBeUndefined();
  });

  it.runIf(hasOwners)('is none where a link leads elsewhere', () => {
    const home = makeHome();
    symlinkSync(makeTempFolder(), join(home, '.cache/sluice'));
    expect(find(home)).toBeUndefined();
  });

  it('is none where it cannot be made, or nobody knows where', () => {
    const home = makeTempFolder();
    writeFileSync(join(home, '.cache'), '');
    expect(find(home)).toBeUndefined();
    const nowhere = () => {
      throw new Error('no home');
    };
    expect(find('', { home: nowhere })).toBeUndefined();
  });

  it('takes what a process has compiled', async () => {
    const home = makeHome();
    const unset = { NODE_COMPILE_CACHE: undefined, NODE_DISABLE_COMPILE_CACHE: undefined };
    const env = { HOME: home, XDG_CACHE_HOME: undefined, ...unset };
    for (let run = 1; run <= 2; run += 1) {
      const end = await waitForEnd(startNode(cliEntry, ['--version'], { env }));
      expect(end).toMatchObject({ exitCode: 0, stderr: '' });
    }
    const files = readdirSync(join(home, '.cache/sluice/compiled'), { recursive: true, withFileTypes: true });
    const sizes = files
      .filter((entry) => entry.isFile())
      .map((entry) => statSync(join(entry.parentPath, entry.name)).size);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeGreaterThan(50_000);
  });
});
