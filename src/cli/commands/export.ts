import { mkdirSync, rmdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { TableExport } from '../../model/reports.ts';
import { formatCountOf } from '../../text/format-count.ts';
import { toSafeLine } from '../../render/safe-text.ts';
import { textOption } from '../options/option-kinds.ts';
import { readStreamNames } from '../options/streams-argument.ts';
import { usageError } from '../options/usage-error.ts';
import { defineAccountCommand } from '../steps/define-account-command.ts';
import { loadOfflineSettings } from '../steps/load-settings.ts';

/** Copies of published tables for readers by path. */
export const exportCommand = defineAccountCommand({
  accounts: 'one',
  description:
    'Writes the published tables as Iceberg tables, each in a folder of its own, for programs that open a table by its ' +
    'path: no catalog is needed. Every export writes all rows again, reads them back and compares them. No request, no key.',
  argument: {
    name: 'streams',
    summary: 'stream names separated by commas; all tables without',
    required: false,
  },
  options: {
    iceberg: textOption({
      flag: 'iceberg',
      valueName: 'place',
      summary: 'A folder, or s3://bucket/prefix',
      group: 'Export:',
      example: './export',
    }),
  },
  examples: [
    ['sluice export --iceberg ./export', 'All tables, into ./export/<table>'],
    ['sluice export prompts_analytics --iceberg ./copy', 'One of them'],
  ],
  async run(context, { values, globals, argument }) {
    context.chooseStop('quit');
    if (values.iceberg === undefined)
      throw usageError('export needs a place', 'Add --iceberg and a folder or a bucket: --iceberg ./export.');
    const settings = await loadOfflineSettings(context, globals);
    const { place, isNew } = findPlace(values.iceberg, context.cwd);
    const streams = readStreamNames(argument);
    const report = await context.engine.exportTables(settings, { streams, place }).catch((error: unknown) => {
      if (isNew) removeIfEmpty(place);
      throw error;
    });
    return { exitCode: 0, summary: summarize(report), result: report, text: render(report) };
  },
});

/** Where an export goes. */
interface Place {
  readonly place: string;
  /** Whether the folder was made for it. */
  readonly isNew: boolean;
}

function findPlace(text: string, cwd: string): Place {
  const place = text.trim().replace(/\/+$/, '');
  if (/^s3:\/\/[^/?#]+(?:\/[^?#]*)?$/i.test(place)) return { place, isNew: false };
  if (/^[a-z][a-z0-9+.-]*:/i.test(place) || text.trim() === '')
    throw usageError(
      `${JSON.stringify(text)} is not a place for an export`,
      'Write a folder, or s3://bucket/prefix; destination.s3 says how to reach other stores than that of AWS.',
    );
  const folder = resolve(cwd, place);
  return { place: folder, isNew: makeFolder(folder) };
}

/** Creates the folder, but not its parents: a misspelt path must not become a tree of folders. */
function makeFolder(folder: string): boolean {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) return false;
  if (found !== undefined)
    throw usageError(`${folder} is a file`, 'Name a folder with --iceberg. Nothing was written.');
  if (statSync(dirname(folder), { throwIfNoEntry: false })?.isDirectory() !== true)
    throw usageError(`${dirname(folder)} does not exist`, 'Create it first, or name another folder.');
  mkdirSync(folder);
  return true;
}

/** An export that failed may have left files that explain it: then the folder cannot be removed, and stays. */
function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // What the export failed of is what counts.
  }
}

function summarize({ place, tables }: TableExport): string {
  return `${formatCountOf(tables.length, 'table')} exported to ${toSafeLine(place)}`;
}

function render({ tables }: TableExport): string {
  return tables
    .map(({ table, path, rows }) => `${table}: ${formatCountOf(rows, 'row')} in ${toSafeLine(path)}`)
    .join('\n');
}
