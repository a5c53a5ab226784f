import { exportFormats, type SchemaExport } from '../../model/schema-report.ts';
import type { CommandOutcome } from '../frame/command.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import type { ChosenAccounts } from '../steps/choose-accounts.ts';
import type { SchemaToWrite } from '../steps/export-files.ts';
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
      summary: 'Write this file instead of stdout (-); json-schema: a folder, with one file per stream',
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
    return exportJoint(context, globals, { file, known, argument }).then((made) =>
      hand(context, made, values),
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
    return hand(context, { exported, of: [settings] }, values);
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
): Promise<SchemaToWrite> {
  const accounts = [];
  for (const account of known.accounts)
    accounts.push({
      name: account.name,
      settings: await loadOfflineSettings({ ...context, account }, globals),
    });
  const streams = readStreamNames(argument);
  const exported = await context.engine.exportJointSchema({ file, accounts, streams });
  return { exported, of: accounts.map(({ settings }) => settings) };
}

/** Prints an export, or writes it where `--output` says. */
async function hand(
  context: CliContext,
  made: SchemaToWrite,
  { output, force }: { readonly output: string | undefined; readonly force: boolean | undefined },
): Promise<CommandOutcome> {
  const { exported } = made;
  const { format } = exported;
  const summary = `${format} of ${formatCountOf(exported.streams.length, 'stream')}`;
  if (output === undefined || output === '-')
    return { exitCode: 0, summary, result: exported, text: printExport(exported) };
  const { writeExports } = await import('../steps/export-files.ts');
  const paths = await writeExports(context, made, { output, force: force === true });
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
