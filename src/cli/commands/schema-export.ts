import { mkdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { ConfigError, StorageError } from '../../model/errors.ts';
import { exportFormats, type SchemaExport } from '../../model/schema-report.ts';
import type { CommandOutcome } from '../frame/command.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import type { ChosenAccounts } from '../steps/choose-accounts.ts';
import { defineAccountCommand } from '../steps/define-account-command.ts';
import { choiceOption, flagOption, textOption } from '../options/option-kinds.ts';
import { readStreamNames } from '../options/streams-argument.ts';
import { escapeJson } from '../../render/write-json.ts';
import { formatCountOf } from '../../text/format-count.ts';
import { toSafeLine } from '../../render/safe-text.ts';
import { loadOfflineSettings } from '../steps/load-settings.ts';

const group = 'Export:';

/** The learned schema in the format of another tool. */
export const schemaExportCommand = defineAccountCommand({
  accounts: 'one',
  description:
    'Writes the schema of the published tables as JSON Schema (which you can put into contracts/), TypeScript types, ' +
    'dbt sources or SQL. With accounts and dbt: sources of the file or the views with the data of all.',
  argument: { name: 'streams', summary: 'stream names separated by commas', required: false },
  options: {
    format: choiceOption({
      flag: 'format',
      valueName: 'format',
      summary: 'json-schema (default), typescript, dbt or sql',
      group,
      choices: exportFormats,
    }),
    output: textOption({
      flag: 'output',
      valueName: 'file',
      summary: 'Write this file; json-schema: a folder, with one file per stream',
      group,
      example: 'contracts/',
    }),
    force: flagOption({ flag: 'force', summary: 'Replace existing files', group }),
    enums: flagOption({
      flag: 'enums',
      summary: 'json-schema: list the values of columns that have few',
      group,
    }),
  },
  examples: [
    ['sluice schema export --output contracts/', 'Contracts to edit and commit'],
    ['sluice schema export --format dbt > models/sources.yml', 'Sources for dbt'],
  ],
  runJoint(context, { values, globals, argument }, known) {
    const file = known.combined ?? known.catalog;
    if (values.format !== 'dbt' || file === undefined) return undefined;
    context.chooseStop('quit');
    return exportJoint(context, globals, { file, known, argument }).then((exported) =>
      hand(context, exported, values),
    );
  },
  async run(context, { values, globals, argument }) {
    context.chooseStop('quit');
    const { format = 'json-schema', enums } = values;
    const streams = readStreamNames(argument);
    // Only dbt's tests use the contract files; other formats must work even if those are invalid, to help fix
    // them.
    const read = format === 'dbt' ? {} : { contracts: 'ignored' as const };
    const settings = await loadOfflineSettings(context, globals, read);
    const exported = await context.engine.exportSchema(settings, {
      ...(streams !== undefined && { streams }),
      format,
      enums: enums === true,
    });
    return hand(context, exported, values);
  },
});

/** Sources of the tables with the rows of all accounts. */
async function exportJoint(
  context: CliContext,
  globals: GlobalValues,
  {
    file,
    known,
    argument,
  }: { readonly file: string; readonly known: ChosenAccounts; readonly argument: string | undefined },
): Promise<SchemaExport> {
  const accounts = [];
  for (const account of known.accounts)
    accounts.push({
      name: account.name,
      settings: await loadOfflineSettings({ ...context, account }, globals),
    });
  return context.engine.exportJointSchema({ file, accounts, streams: readStreamNames(argument) });
}

/** Prints an export, or writes it where `--output` says. */
async function hand(
  { cwd }: CliContext,
  exported: SchemaExport,
  { output, force }: { readonly output: string | undefined; readonly force: boolean | undefined },
): Promise<CommandOutcome> {
  const { format } = exported;
  const summary = `${format} of ${formatCountOf(exported.streams.length, 'stream')}`;
  if (output === undefined) return { exitCode: 0, summary, result: exported, text: printExport(exported) };
  const planned = await planFiles(exported, cwd, output);
  if (force !== true) await assertNoneExist(planned);
  for (const file of planned) await writeExport(file, force === true);
  const paths = planned.map(({ path }) => path);
  const text = paths.map((path) => `Wrote ${toSafeLine(path)}`).join('\n');
  const result = { format, streams: exported.streams, files: paths };
  return { exitCode: 0, summary: `${summary} written`, result, text };
}

/** One text for stdout: several contracts become one object with a member per stream. */
function printExport({ files, format }: SchemaExport): string {
  const [only] = files;
  if (format !== 'json-schema' && only !== undefined) return only.text.trimEnd();
  return escapeJson(joinContracts(files));
}

function joinContracts(files: SchemaExport['files']): string {
  const [only] = files;
  if (files.length === 1 && only !== undefined) return only.text.trimEnd();
  const members = files.map(({ stream, text }) => `${JSON.stringify(stream)}: ${text.trimEnd()}`);
  return `{\n${members.join(',\n')}\n}`;
}

interface ExportFile {
  readonly path: string;
  readonly absolute: string;
  readonly text: string;
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

/** Checked before anything is written: half an export would leave some contracts in effect. */
async function assertNoneExist(files: readonly ExportFile[]): Promise<void> {
  for (const { path, absolute } of files) {
    if (await stat(absolute).catch(() => undefined)) throw existsAlready(path);
  }
}

function existsAlready(path: string, cause?: unknown): ConfigError {
  return new ConfigError(`${path} already exists; nothing was written`, {
    code: 'usage_invalid',
    hint: 'Give --force to replace it, or name another place with --output.',
    context: { path },
    cause,
  });
}

async function isExistingFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/** Creates the folder, but not its parents: a misspelt path must not become a tree of folders. */
async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  });
}

async function writeExport({ path, absolute, text }: ExportFile, force: boolean): Promise<void> {
  try {
    await makeFolder(dirname(absolute));
    // `wx` makes "never overwrites" true even for two exports at once.
    await writeFile(absolute, text, { flag: force ? 'w' : 'wx' });
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
    if (code === 'EEXIST') {
      throw existsAlready(path, cause);
    }
    if (code === 'ENOENT' || code === 'ENOTDIR') {
      throw new ConfigError(`the folder of ${path} does not exist, or is not a folder`, {
        code: 'usage_invalid',
        hint: 'Create the folder first, or name another place with --output.',
        context: { path },
        cause,
      });
    }
    throw new StorageError(`${path} could not be written (${code || 'unknown cause'})`, {
      code: 'storage_failed',
      hint: 'Check the permissions and free space of its folder, or name another place with --output.',
      context: { path },
      cause,
    });
  }
}
