import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join, posix, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectors } from '../connectors/registry.ts';
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
  it('is not a script of any package that Sluice needs: --ignore-scripts takes nothing away', () => {
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
  let folder: string;
  let packed: Packed;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-package-'));
    const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
    const { stdout } = await promisify(execFile)('npm', args, { cwd: root });
    const [result] = JSON.parse(stdout) as readonly NpmPack[];
    if (result === undefined) throw new Error('npm packed nothing');
    packed = { tarball: join(folder, result.filename), files: result.files.map(({ path }) => path) };
  });

  afterAll(() => rmSync(folder, { recursive: true }));

  it('holds what was built, the schema of the config, the docs and what they show, and nothing else', () => {
    const sources = ['src', 'state', 'connectors'].flatMap((room) =>
      readdirSync(join(root, room), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
        .map((entry) => relative(root, join(entry.parentPath, entry.name)).replace(/\.ts$/, '')),
    );
    const programs = ['bin', 'source-bin', 'tap-bin', 'lane-main', 'mcp-main'];
    const chunks = packed.files.filter((path) => /^dist\/src\/cli\/chunks\/[\w-]+\.js$/.test(path));
    const shown = packed.files.filter((path) =>
      /^(?:docs\/.+\.md$|docs\/pictures\/|docker\/|examples\/|notebooks\/|python\/|src\/\w+\/README\.md$)/.test(
        path,
      ),
    );
    expect(packed.files.toSorted()).toEqual(
      [
        ...shown,
        'CHANGELOG.md',
        'LICENSE',
        'README.md',
        'SECURITY.md',
        'bench/README.md',
        ...Object.keys(connectors).map((name) => `connectors/${name}/README.md`),
        'package.json',
        'sluice.schema.json',
        ...sources
          .filter((source) => !source.startsWith('src/cli/'))
          .flatMap((source) => [`dist/${source}.js`, `dist/${source}.d.ts`]),
        ...programs.map((name) => `dist/src/cli/${name}.js`),
        ...chunks,
        'dist/src/cli/chunks/LICENSES.txt',
      ].toSorted(),
    );
  });

  it('has every page that its pages link to', () => {
    const folders = new Set(packed.files.map((path) => posix.dirname(path)));
    const dead = packed.files
      .filter((path) => path.endsWith('.md'))
      .flatMap((page) =>
        [...readFileSync(join(root, page), 'utf8').matchAll(/\]\(([^)\s#]+)(?:#[^)\s]*)?\)/g)]
          .map(([, link = '']) => link)
          .filter((link) => !/^[a-z]+:/.test(link))
          .map((link) => posix.join(posix.dirname(page), link).replace(/\/$/, '')),
      )
      .filter((target) => !packed.files.includes(target) && !folders.has(target));
    expect([...new Set(dead)]).toEqual([]);
  });

  it('has the command line in few files: what every command loads, and what a sync does', () => {
    const folder = join(root, 'dist/src/cli');
    const sizeOf = (name: string) =>
      readdirSync(join(folder, 'chunks'))
        .filter((file) => new RegExp(`^${name}-[\\w-]{8}\\.js$`).test(file))
        .reduce((sum, file) => sum + statSync(join(folder, 'chunks', file)).size, 0);
    expect(sizeOf('start')).toBeLessThan(500_000);
    expect(sizeOf('sync')).toBeGreaterThan(1_000_000);
    const installed = ['zod', 'yaml', 'yargs', 'pino'].map(
      (name) => `${name} ${versionOf(join(root, 'node_modules', name))}\n`,
    );
    const licenses = readFileSync(join(folder, 'chunks/LICENSES.txt'), 'utf8');
    expect(installed.filter((title) => !licenses.includes(title))).toEqual([]);
  });

  it('starts where nothing is installed but what its programs import', () => {
    const place = join(folder, 'installed');
    mkdirSync(place);
    execFileSync('tar', ['xf', packed.tarball, '-C', place]);
    const run = (...args: readonly string[]) =>
      execFileSync(process.execPath, [join(place, 'package/dist/src/cli/bin.js'), ...args], {
        encoding: 'utf8',
      });
    expect(run('--version').trim()).toBe(versionOf(root));
    expect(run('--help')).toContain('sluice <command> [options]');
  });

  it('has entry points that fit its files', async () => {
    const { buffer } = new Uint8Array(readFileSync(packed.tarball));
    const { messages } = await publint({ strict: true, pack: { tarball: buffer } });
    expect(messages).toEqual([]);
  });

  it('has types that every way of resolving finds', async () => {
    const analysis = await checkPackage(createPackageFromTarballData(readFileSync(packed.tarball)));
    if (analysis.types === false) throw new Error('the package has no types');
    const problems = analysis.problems.map(({ kind, ...rest }) => [
      kind,
      'resolutionKind' in rest && rest.resolutionKind,
    ]);
    // It has ES modules alone, which `require` loads on every Node that Sluice runs on.
    expect(problems).toEqual([['CJSResolvesToESM', 'node16-cjs']]);
    expect(Object.keys(createRequire(import.meta.url)(join(root, 'dist/src/index.js')) as object)).toContain(
      'sync',
    );
  });

  it('type-checks in a strict project, and refuses what is wrong', () => {
    const project = join(folder, 'project');
    const modules = join(project, 'node_modules');
    mkdirSync(modules, { recursive: true });
    execFileSync('tar', ['xf', packed.tarball, '-C', modules]);
    renameSync(join(modules, 'package'), join(modules, 'sluice'));
    // What an installation would put next to it.
    symlinkSync(join(root, 'node_modules/zod'), join(modules, 'zod'), 'junction');
    const right = writeProgram(project, 'right.ts', consumer);
    const wrong = writeProgram(project, 'wrong.ts', consumer.replace('maxWaitMs: 0', "maxWaitMs: 'never'"));
    expect(compile([right, wrong])).toEqual([
      expect.stringMatching(/^wrong.ts: .*'string' is not assignable to type 'number/),
    ]);
  });
});

/** The version of the package in a folder. */
function versionOf(folder: string): string {
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly version: string;
  };
  return version;
}

interface NpmPack {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

interface Packed {
  readonly tarball: string;
  readonly files: readonly string[];
}

const consumer = `
import { check, type ConfigInput, defineConfig, plan, sync, SyncError, type RunReport, type Verdict } from 'sluice';
const config: ConfigInput = defineConfig({
  source: { connector: 'analytics-read', baseUrl: 'https://analytics.example.com/api/v1', apiKey: undefined },
  destination: { duckdb: './warehouse.duckdb' },
});
export async function run(signal: AbortSignal): Promise<readonly (Verdict | undefined)[]> {
  try {
    const { ok } = await check(config);
    const { totals } = await plan(config, { offline: true });
    const report: RunReport = await sync(config, { maxWaitMs: 0, signal, onProgress: ({ type }) => void type });
    const exitCode: 0 | 1 | 2 | 3 | 4 | 5 | 6 | 75 | 130 | 143 = report.exitCode;
    return ok && (totals.requests ?? 0) >= 0 && exitCode === 0 ? report.streams.map(({ verdict }) => verdict) : [];
  } catch (error) {
    if (error instanceof SyncError && error.code === 'key_missing') return [];
    throw error;
  }
}
`;

function writeProgram(folder: string, name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(file, text);
  return file;
}

/** What a compiler as strict as it can be says, the types of the package itself included. */
function compile(files: readonly string[]): readonly string[] {
  const program = ts.createProgram(files, {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
    skipLibCheck: false,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    // As in a project that has no @types/node: AbortSignal is the one of the DOM.
    lib: ['lib.es2023.d.ts', 'lib.dom.d.ts'],
    types: [],
  });
  return ts.getPreEmitDiagnostics(program).map(({ file, messageText }) => {
    const text = ts.flattenDiagnosticMessageText(messageText, ' ');
    return `${basename(file?.fileName ?? '')}: ${text}`;
  });
}
