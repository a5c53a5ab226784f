import { strict as assert } from 'node:assert';
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './dockerfile.ts';

const IMPORTS = 7;

/** Packs what the sources build to, installs it in an empty folder, and runs it there as a user would. */
export function installPackage(say: (text: string) => void): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-package-'));
  try {
    const tarball = pack(folder);
    const project = join(folder, 'project');
    mkdirSync(project);
    writeFileSync(join(project, 'package.json'), '{"name":"empty","version":"1.0.0"}\n');
    run('npm', ['install', '--ignore-scripts', '--no-fund', '--no-audit', tarball], project);
    say('installs in an empty folder, without scripts');

    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    assert.equal(run('npx', ['--no-install', 'sluice', '--version'], project).trim(), version);
    assert.match(run('npx', ['--no-install', 'sluice', 'demo'], project), /visibility_mentions +verified/);
    say('npx sluice --version and npx sluice demo work there');

    const names = 'SyncError,check,defineConfig,plan,sync,syncAccounts';
    const esm = "import('sluice').then((all) => console.log(Object.keys(all).sort().join()))";
    assert.equal(run(process.execPath, ['-e', esm], project).trim(), names);
    const cjs = "console.log(Object.keys(require('sluice')).sort().join())";
    assert.equal(run(process.execPath, ['-e', cjs], project).trim(), names);
    const bare = measureMs('0', project);
    const loaded = measureMs("await import('sluice')", project);
    const sizes = ['node_modules', 'node_modules/sluice', 'node_modules/@duckdb'].map((path) =>
      readSizeMb(join(project, path)),
    );
    return Promise.resolve(
      `fine; ${sizes[0]} MB installed (sluice itself ${sizes[1]}, DuckDB ${sizes[2]}), ` +
        `import takes ${loaded - bare} ms (node alone ${bare})`,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Builds next to the clone, so that nobody's `dist` goes away under them. */
function pack(folder: string): string {
  const place = join(folder, 'built');
  mkdirSync(place);
  const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    files: readonly string[];
  };
  const shipped = globSync(['package.json', ...files.filter((name) => name !== 'dist')], { cwd: root });
  for (const name of shipped) cpSync(join(root, name), join(place, name), { recursive: true });
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  run(process.execPath, [tsc, '-p', 'tsconfig.build.json', '--outDir', join(place, 'dist')], root);
  const packed = run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], place);
  const [result] = JSON.parse(packed) as readonly { readonly filename: string }[];
  return join(folder, result?.filename ?? '');
}

/** Median time of a process that runs this code, in whole milliseconds. */
function measureMs(code: string, cwd: string): number {
  const times = Array.from({ length: IMPORTS }, () => {
    const startedAt = performance.now();
    run(process.execPath, ['--input-type=module', '-e', code], cwd);
    return performance.now() - startedAt;
  });
  return Math.round(times.toSorted((a, b) => a - b)[Math.floor(IMPORTS / 2)] ?? 0);
}

function readSizeMb(folder: string): number {
  return Number(run('du', ['-s', '-m', folder], folder).split('\t')[0]);
}

function run(command: string, args: readonly string[], cwd: string): string {
  const isScript = process.platform === 'win32' && command.startsWith('np');
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8', shell: isScript });
  assert.equal(status, 0, `${command} ${args.join(' ')} ended with ${status}\n${stdout}${stderr}`);
  return stdout;
}
