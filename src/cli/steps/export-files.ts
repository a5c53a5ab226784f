import { mkdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { ConfigError } from '../../model/errors.ts';
import type { SchemaExport } from '../../model/schema-report.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import { formatCountOf } from '../../text/format-count.ts';
import type { CliContext } from '../frame/context.ts';
import { findOutput, type OutputKind, type OutputTarget, toOutputError, writeOutput } from './output-file.ts';
import { refuseOwnPlace } from './own-output.ts';

/** An export of schemas, and the settings of the accounts that it is of. */
export interface SchemaToWrite {
  readonly exported: SchemaExport;
  readonly of: readonly OfflineSettings[];
}

interface ExportFile extends OutputTarget {
  readonly text: string;
}

/** Writes an export where `--output` says; returns the paths. */
export async function writeExports(
  context: CliContext,
  { exported, of }: SchemaToWrite,
  { output, force }: { readonly output: string; readonly force: boolean },
): Promise<readonly string[]> {
  const { cwd } = context;
  const files = await planFiles(exported, cwd, output);
  // Before anything is written: half an export would leave some contracts in effect.
  for (const file of files) {
    for (const settings of of) refuseOwnPlace(context, settings, file);
    await assertWritable(cwd, file, force);
  }
  for (const file of files) {
    await makeFolder(file);
    if (force || !(await writeNew(file))) await writeOutput(file, file.text, context.randomHex(8));
  }
  return files.map(({ path }) => path);
}

async function planFiles(
  { files, format }: SchemaExport,
  cwd: string,
  output: string,
): Promise<readonly ExportFile[]> {
  const isFolder = /[/\\]$/.test(output) || (await isExistingFolder(resolve(cwd, output)));
  if (format !== 'json-schema' || (!isFolder && files.length === 1)) {
    if (isFolder) {
      throw new ConfigError(`${output} is a folder, and ${format} is one file`, {
        code: 'usage_invalid',
        hint: 'Name a file, e.g. --output schema.sql.',
      });
    }
    return files.map(({ text }) => ({ path: output, absolute: resolve(cwd, output), text }));
  }
  if (!isFolder) {
    throw new ConfigError(`${formatCountOf(files.length, 'contract')} cannot go into one file: ${output}`, {
      code: 'usage_invalid',
      hint: 'Name a folder (--output contracts/), or one stream.',
    });
  }
  return files.map(({ stream, text }) => {
    const path = join(output, `${stream ?? 'schema'}.schema.json`);
    return { path, absolute: resolve(cwd, path), text };
  });
}

async function isExistingFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/** What `--force` replaces: a database is never an export of a schema, whatever its name. */
const forced: OutputKind = {
  replaces: 'a text file',
  isReplaced: (start) => !start.includes('\0'),
  hint: 'Name a file, e.g. --output schema.sql, or leave out --output to print it.',
};

async function assertWritable(cwd: string, { path, absolute }: ExportFile, force: boolean): Promise<void> {
  const found = await stat(absolute).catch(() => undefined);
  if (found === undefined) return;
  if (found.isFile() && !force) throw existsAlready(path);
  await findOutput(cwd, path, forced);
}

function existsAlready(path: string, cause?: unknown): ConfigError {
  return new ConfigError(`${path} already exists; nothing was written`, {
    code: 'usage_invalid',
    hint: 'Give --force to replace it, or name another place with --output.',
    context: { path },
    cause,
  });
}

/** Creates the folder, but not its parents: a misspelt path must not become a tree of folders. */
async function makeFolder({ path, absolute }: ExportFile): Promise<void> {
  await mkdir(dirname(absolute)).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw toOutputError(path, error);
  });
}

/** Writes a file that was not there before; false for a device or a pipe, which is there and is not replaced. */
async function writeNew({ path, absolute, text }: ExportFile): Promise<boolean> {
  try {
    // `wx` makes "never overwrites" true even for two exports at once.
    await writeFile(absolute, text, { flag: 'wx' });
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw toOutputError(path, cause);
    const found = await stat(absolute).catch(() => undefined);
    if (found?.isFile() !== false) throw existsAlready(path, cause);
    return false;
  }
}
