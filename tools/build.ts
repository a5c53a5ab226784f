// npm run build: compiles src, state and connectors to dist, and bundles the command line. Arguments are tsc's.
import { spawnSync } from 'node:child_process';
import { chmodSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { bundleCli } from './bundle-cli.ts';

const root = resolve(import.meta.dirname, '..');
const dist = join(root, 'dist');
const tsc = join(root, 'node_modules/typescript/bin/tsc');

rmSync(dist, { recursive: true, force: true });
const { status } = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.build.json', ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
});
if (status === 0) {
  const cli = join(dist, 'src/cli');
  const bundled = join(dist, 'src/bundled');
  await bundleCli(dist, bundled);
  rmSync(cli, { recursive: true });
  renameSync(bundled, cli);
  for (const bin of ['bin', 'source-bin', 'tap-bin']) chmodSync(join(dist, `src/cli/${bin}.js`), 0o755);
}
process.exitCode = status ?? 1;
