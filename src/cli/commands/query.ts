import type { QueryResult } from '../../model/reports.ts';
import { defineCommand } from '../frame/command.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import { choiceOption } from '../options/option-kinds.ts';
import { listNames } from '../../text/list-names.ts';
import { formatCountOf } from '../../text/format-count.ts';
import { queryFormats } from '../../render/query-format-names.ts';
import { accountsOption, type ChosenAccounts, listChosen } from '../steps/choose-accounts.ts';
import { loadOfflineSettings } from '../steps/load-settings.ts';

// A terminal shows only the first rows; pipes and files get them all.
const MOST_ROWS_ON_TERMINAL = 1_000;

/** SQL over the published file. */
export const queryCommand = defineCommand({
  description:
    'Runs one SQL statement over the published DuckDB file, read-only. Works while a sync runs. The file ' +
    'is attached under its own name, as in any DuckDB program: warehouse.main.visibility_mentions. JSON columns ' +
    'are JSON in json and ndjson, and text in other formats. With accounts, each table is that of all of them (or of ' +
    'those named), with the column account.',
  argument: { name: 'SQL', summary: 'an SQL statement in quotes', required: true },
  options: {
    format: choiceOption({
      flag: 'format',
      valueName: 'format',
      summary: 'table (default), csv, json, ndjson or markdown',
      group: 'Output:',
      choices: queryFormats,
    }),
    accounts: accountsOption,
  },
  examples: [
    ['sluice query "from visibility_mentions limit 5"', 'Look at a table'],
    ['sluice query "from _sluice.runs" --format csv > runs.csv', 'Save a result'],
  ],
  async run(context, { values, globals, argument = '' }) {
    // As PID 1 a process cannot die of its own signal: the statement has to end.
    context.chooseStop('close');
    const chosen = await listChosen(context, globals, values.accounts);
    const { stdout } = context.output;
    const format = values.format ?? 'table';
    const isCapped =
      stdout.isTerminal && globals.json !== true && (format === 'table' || format === 'markdown');
    const options = { signal: context.signal, ...(isCapped && { maxRows: MOST_ROWS_ON_TERMINAL + 1 }) };
    const found =
      chosen === undefined
        ? await queryOne(context, globals, { sql: argument, options })
        : await queryAll(context, chosen, { sql: argument, options });
    const isCut = isCapped && found.rows.length > MOST_ROWS_ON_TERMINAL;
    const { readWholeNumbers } = await import('../../render/query-cells.ts');
    const rows = isCut ? found.rows.slice(0, MOST_ROWS_ON_TERMINAL) : found.rows;
    const result = readWholeNumbers({ ...found, rows });
    const { formatQueryResult } = await import('../../render/query-formats.ts');
    const text = globals.json === true ? '' : formatQueryResult(result, format, stdout.columns());
    if (isCut) {
      context.output.writeNote(
        `Only the first ${formatCountOf(MOST_ROWS_ON_TERMINAL, 'row')} are shown; --format csv writes all.`,
      );
    }
    return { exitCode: 0, summary: formatCountOf(result.rows.length, 'row'), result, text };
  },
});

interface Query {
  readonly sql: string;
  readonly options: { readonly signal: AbortSignal; readonly maxRows?: number };
}

async function queryOne(
  context: CliContext,
  globals: GlobalValues,
  { sql, options }: Query,
): Promise<QueryResult> {
  const settings = await loadOfflineSettings(context, globals);
  return context.engine.queryPublished(settings.readersFile, sql, options);
}

/** Over the accounts that were chosen; `account` is a column of each table. */
async function queryAll(
  { engine, output }: CliContext,
  { chosen, data }: ChosenAccounts,
  { sql, options }: Query,
): Promise<QueryResult> {
  const names = chosen.map(({ name }) => name);
  const { leftOut, ...result } = await engine.queryAccounts({ names, data }, sql, options);
  if (leftOut.length > 0) output.writeNote(`Not published yet, so without rows here: ${listNames(leftOut)}.`);
  return result;
}
