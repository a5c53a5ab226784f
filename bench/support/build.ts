import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { bundleCli } from '../../tools/bundle-cli.ts';

/** The files that are measured. */
export interface Build {
  /** The command line. */
  readonly cli: string;
  /** A script of `bench/` by its name without an ending. */
  readonly script: (name: string) => string;
}

const root = resolve(import.meta.dirname, '../..');

/** The sources as they are: soon at hand, with the compiler of their types in each process. */
export const sources: Build = {
  cli: join(root, 'src/cli/bin.ts'),
  script: (name) => join(root, 'bench', `${name}.ts`),
};

/** Compiles command line and scripts into a folder of their own, so that `dist/` is left alone. */
export async function buildInto(folder: string): Promise<Build> {
  mkdirSync(folder, { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'dir');
  cpSync(join(root, 'package.json'), join(folder, 'package.json'));
  const config = {
    extends: join(root, 'tsconfig.build.json'),
    compilerOptions: { rootDir: root, outDir: join(folder, 'dist') },
    include: ['src', 'connectors', 'state', 'bench'].map((name) => join(root, name)),
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  await promisify(execFile)(process.execPath, [compiler, '-p', folder]).catch((error: unknown) => {
    const said = error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error);
    throw new Error(`the sources do not compile:\n${said}`);
  });
  // The scripts import parts of the command line.
  const bundled = join(folder, 'dist/src/bundled');
  await bundleCli(join(folder, 'dist'), bundled);
  return {
    cli: join(bundled, 'bin.js'),
    script: (name) => join(folder, 'dist/bench', `${name}.js`),
  };
}
