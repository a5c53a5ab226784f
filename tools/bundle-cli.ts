import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { isAbsolute, join, resolve } from 'node:path';
import { type ChunkingContext, rolldown } from 'rolldown';

/** The programs of the command line, by their files in `dist/src/cli`. */
const PROGRAMS = ['bin', 'source-bin', 'tap-bin', 'lane-main', 'mcp-main'];

/**
 * Files of `dist` that begin a group, which is they and all that they import: what every command loads, and what a
 * sync does, most of which other commands load too. What is left is loaded with the commands that need it.
 */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  start: ['src/cli/main.js', 'src/model/version.js'],
  sync: [
    'connectors/registry.js',
    'src/cli/commands/sync.js',
    'src/cli/progress/line-display.js',
    'src/cli/progress/log-writer.js',
    'src/commands/refused-run.js',
    'src/config/load-config.js',
    'src/config/resolve-settings.js',
    'src/render/render-sync.js',
    'src/sync/run.js',
  ],
};

/** Packages of many files, and with them what they import. The others stay where they are installed. */
const BUNDLED: ReadonlySet<string> = new Set([
  '@duckdb/node-api',
  'cli-table3',
  'didyoumean2',
  'p-queue',
  'pino',
  'pino-pretty',
  'yaml',
  'yargs',
  'zod',
]);

/** What a bundled package imports and has to stay where it is installed: it chooses a binary of this platform. */
const NATIVE = '@duckdb/node-bindings';

/**
 * Puts the built command line, and packages that it always loads, into few files: to read and link a thousand small
 * ones takes a third of the time of a sync with nothing to do. The library stays as it was compiled.
 * @param dist what `tsc` wrote
 * @param into an empty folder, or none yet, right below `dist/src`
 */
export async function bundleCli(dist: string, into: string): Promise<void> {
  const bundle = await rolldown({
    input: Object.fromEntries(PROGRAMS.map((name) => [name, join(dist, 'src/cli', `${name}.js`)])),
    platform: 'node',
    external: isExternal,
    // Programs export nothing.
    preserveEntrySignatures: false,
    // What one command loads late, another one may load at once.
    checks: { ineffectiveDynamicImport: false },
  });
  const groups = new Map<string, string>();
  const { output } = await bundle.write({
    dir: into,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [
        {
          debugName: 'start and sync',
          name(id, context) {
            if (groups.size === 0) fillGroups(groups, dist, context);
            return groups.get(id) ?? null;
          },
        },
      ],
    },
  });
  await bundle.close();
  const files = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
  writeFileSync(join(into, 'chunks/LICENSES.txt'), collectLicenses(files));
}

function isExternal(id: string, importer: string | undefined): boolean {
  if (id.startsWith('.') || isAbsolute(id)) return false;
  if (isBuiltin(id) || id === NATIVE) return true;
  // Next to us there may be another version of what a package imports.
  return !BUNDLED.has(nameOfPackage(id)) && importer?.split(/[\\/]/).includes('node_modules') !== true;
}

function nameOfPackage(id: string): string {
  return id
    .split('/')
    .slice(0, id.startsWith('@') ? 2 : 1)
    .join('/');
}

/** Notes the group of each file that is in one; the first that has it counts. */
function fillGroups(groups: Map<string, string>, dist: string, context: ChunkingContext): void {
  for (const [name, files] of Object.entries(GROUPS)) {
    const left = files.map((file) => resolve(dist, file));
    const missing = left.filter((file) => !existsSync(file));
    if (missing.length > 0)
      throw new Error(`${missing.join(', ')} was not compiled: correct GROUPS in tools/bundle-cli.ts`);
    for (let id = left.pop(); id !== undefined; id = left.pop()) {
      const found = context.getModuleInfo(id);
      if (found === null || groups.has(id)) continue;
      groups.set(id, name);
      left.push(...found.importedIds);
    }
  }
}

/** The licenses of packages that these files are from. */
function collectLicenses(files: readonly string[]): string {
  const folders = new Set(
    files.flatMap(
      (file) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file.replaceAll('\\', '/')) ?? [],
    ),
  );
  return [...folders]
    .toSorted()
    .map((folder) => {
      const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
        readonly name: string;
        readonly version: string;
      };
      const license = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
      if (license === undefined)
        throw new Error(`${name} has no license file: take it out of BUNDLED in tools/bundle-cli.ts`);
      return `${name} ${version}\n\n${readFileSync(join(folder, license), 'utf8').trim()}\n`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);
}
