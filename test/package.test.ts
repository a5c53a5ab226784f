import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { isBuilt } from './support/cli-entry.ts';

const root = resolve(import.meta.dirname, '..');

interface LockedPackage {
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly hasInstallScript?: boolean;
  readonly integrity?: string;
}

const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, LockedPackage>>;
};
const installed = Object.entries(lock.packages).filter(([path]) => path !== '');

describe('what an installation runs', () => {
  it('is no script of any package that Sluice needs: --ignore-scripts takes nothing away', () => {
    const withScripts = installed.filter(([, one]) => one.hasInstallScript === true);
    expect(withScripts.filter(([, one]) => one.dev !== true).map(([path]) => path)).toEqual([]);
    // The runtime of the project's own scripts; sluice itself runs on the machine's.
    expect(withScripts.map(([path]) => path)).toEqual(['node_modules/node']);
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      readonly scripts: Readonly<Record<string, string>>;
    };
    expect(
      Object.keys(scripts).filter((name) => /install|^prepare|publish|^dependencies$/.test(name)),
    ).toEqual([]);
  });

  it('is what the lock file names, each with the hash of its content', () => {
    expect(installed.filter(([, { integrity = '' }]) => !integrity.startsWith('sha512-'))).toEqual([]);
  });
});

// What is packed is what was built: run `npm run build` to see this one run.
describe.skipIf(!isBuilt)('the package', () => {
  it('holds what was built from the sources, four texts, and nothing else', async () => {
    const { stdout } = await promisify(execFile)('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: root,
    });
    const [packed] = JSON.parse(stdout) as { readonly files: readonly { readonly path: string }[] }[];
    const sources = ['src', 'state', 'connectors'].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
        .map((entry) => relative(root, join(entry.parentPath, entry.name)).replace(/\.ts$/, '')),
    );
    expect((packed?.files ?? []).map(({ path }) => path).toSorted()).toEqual(
      [
        'CHANGELOG.md',
        'LICENSE',
        'README.md',
        'package.json',
        ...sources.flatMap((source) => [`dist/${source}.js`, `dist/${source}.d.ts`]),
      ].toSorted(),
    );
  });
});
