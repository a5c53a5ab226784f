import type { TakeRows } from '../../model/take-rows.ts';
import { type CommandOutcome, defineCommand } from '../frame/command.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import { choiceOption } from '../options/option-kinds.ts';
import { listNames } from '../../text/list-names.ts';
import { formatCountOf } from '../../text/format-count.ts';
import { type QueryFormat, queryFormats } from '../../render/query-format-names.ts';
import type { RowFormatName } from '../../render/query-formats.ts';
import { accountsOption, type ChosenAccounts, listChosen } from '../steps/choose-accounts.ts';
import { loadOfflineSettings } from '../steps/load-settings.ts';

// A terminal shows only the first rows; pipes and files get them all.
const MOST_ROWS_ON_TERMINAL = 1_000;

/** SQL over the published file. */
export const queryCommand = defineCommand({
  description:
    'Runs one SQL statement over the published DuckDB file, read-only. Works while a sync runs. The file ' +
    'is attached under its own name, as in any DuckDB program: warehouse.main.visibility_mentions. JSON columns ' +
    'are JSON in json and ndjson, and text in other formats. A table is drawn once all rows are read; other formats ' +
    'write them as they are read, however many there are. With accounts, each table is that of all of them (or of ' +
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
    const format = values.format ?? 'table';
    const isJson = globals.json === true;
    const isCapped = context.output.stdout.isTerminal && (format === 'table' || format === 'markdown');
    const ask: Ask = (take) => {
      const query = { sql: argument, options: { signal: context.signal, take } };
      return chosen === undefined ? askOne(context, globals, query) : askAll(context, chosen, query);
    };
    if (isJson) return holdForJson(ask);
    if (format === 'table' || isCapped) return showTable(context, format, ask);
    return print(context, format, ask);
  },
});

/** Runs the query; the rows go to `take`. */
type Ask = (take: TakeRows) => Promise<void>;

async function print(context: CliContext, format: RowFormatName, ask: Ask): Promise<CommandOutcome> {
  const { printRows } = await import('./query-rows.ts');
  const { take, finish, count, explain } = printRows(context, format);
  await ask(take).catch((error: unknown) => {
    throw explain(error);
  });
  await finish();
  return { exitCode: 0, summary: formatCountOf(count(), 'row'), result: undefined, text: '' };
}

async function holdForJson(ask: Ask): Promise<CommandOutcome> {
  const { holdRows } = await import('./query-rows.ts');
  const { take, held } = holdRows({ mostRows: Infinity, what: '--json' });
  await ask(take);
  const result = held();
  return { exitCode: 0, summary: formatCountOf(result.rows.length, 'row'), result, text: '' };
}

async function showTable({ output }: CliContext, format: QueryFormat, ask: Ask): Promise<CommandOutcome> {
  const { holdRows } = await import('./query-rows.ts');
  const most = output.stdout.isTerminal ? MOST_ROWS_ON_TERMINAL : Infinity;
  // One more, to know whether there are more.
  const { take, held } = holdRows({ mostRows: most + 1, what: 'a table' });
  await ask(take);
  const found = held();
  const result = { ...found, rows: found.rows.slice(0, most) };
  const { formatQueryResult } = await import('../../render/query-formats.ts');
  const text = formatQueryResult(result, format, output.stdout.columns());
  if (found.rows.length > most) {
    output.writeNote(`Only the first ${formatCountOf(most, 'row')} are shown; --format csv writes all.`);
  }
  return { exitCode: 0, summary: formatCountOf(result.rows.length, 'row'), result, text };
}

interface Query {
  readonly sql: string;
  readonly options: { readonly signal: AbortSignal; readonly take: TakeRows };
}

async function askOne(context: CliContext, globals: GlobalValues, { sql, options }: Query): Promise<void> {
  const settings = await loadOfflineSettings(context, globals);
  await context.engine.streamPublished(settings.readersFile, sql, options);
}

/** Over the accounts that were chosen; `account` is a column of each table. */
async function askAll(
  { engine, output }: CliContext,
  { chosen, data }: ChosenAccounts,
  { sql, options }: Query,
): Promise<void> {
  const names = chosen.map(({ name }) => name);
  const { leftOut } = await engine.streamAccounts({ names, data }, sql, options);
  if (leftOut.length > 0) output.writeNote(`Not published yet, so without rows here: ${listNames(leftOut)}.`);
}
