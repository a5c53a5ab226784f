import { cpSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { PartRun } from '../part.ts';
import { Scene } from '../scene.ts';

const root = resolve(import.meta.dirname, '../../..');
const OPTIONAL = ['pg', 'pg-boss', 'tar', '@aws-sdk/client-s3'] as const;

/** Installations without one of the packages that only fleets need, and one without all of them. */
export async function provePackages({ stage, verdicts }: PartRun): Promise<void> {
  const scene = await Scene.open(stage, {
    name: 'packages',
    accounts: { 'client-1': 'duckdb' },
    leaseS: 8,
    api: {
      limits: { requests: 600, windowMs: 60_000 },
      counts: { mentions: 20, prompts: 20, categories: 20, products: 20 },
    },
  });
  try {
    for (const name of OPTIONAL)
      for (const command of ['init', 'worker', ...(name === 'pg' ? ['status', 'run'] : [])]) {
        // Only reading and writing state needs it.
        if (name === 'tar' && command === 'init') continue;
        const cli = installWithout(join(stage.folder, 'without'), [name]);
        const args = ['fleet', command, ...(command === 'run' ? ['client-1'] : [])];
        const { exitCode, stderr, stdout } = await scene.run(args, { cli });
        const said = `${stdout}${stderr}`;
        const isClear =
          said.includes(`the package ${name} is not installed`) && said.includes(`npm install ${name}`);
        verdicts.check(
          `without ${name}, ${args.join(' ')} ends with 2 and says what to run`,
          exitCode === 2 && isClear,
          said.trim().slice(0, 250).replaceAll('\n', ' '),
        );
      }
    verdicts.check('nothing was requested', scene.api.seen.length === 0);
    const cli = installWithout(join(stage.folder, 'without'), OPTIONAL);
    const { prints } = await scene.syncUndisturbed(1, cli);
    const isThere = Object.values(prints['client-1'] ?? {}).every((print) => String(print).startsWith('20:'));
    verdicts.check('without all of them, a config without fleet is synced', isThere);
  } finally {
    await scene.close();
  }
}

/** Installs what was built, without some packages; returns its command line. */
function installWithout(folder: string, missing: readonly string[]): string {
  rmSync(folder, { recursive: true, force: true });
  const modules = join(folder, 'node_modules');
  mkdirSync(modules, { recursive: true });
  cpSync(join(root, 'dist'), join(folder, 'dist'), { recursive: true });
  cpSync(join(root, 'package.json'), join(folder, 'package.json'));
  for (const name of readdirSync(join(root, 'node_modules'))) {
    if (name.startsWith('.')) continue;
    if (!name.startsWith('@')) link(modules, name, missing);
    else {
      mkdirSync(join(modules, name));
      for (const own of readdirSync(join(root, 'node_modules', name)))
        link(modules, `${name}/${own}`, missing);
    }
  }
  return join(folder, 'dist/src/cli/bin.js');
}

function link(modules: string, name: string, missing: readonly string[]): void {
  if (!missing.includes(name)) symlinkSync(join(root, 'node_modules', name), join(modules, name));
}
