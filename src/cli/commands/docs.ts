import { judgeAccounts } from '../../accounts/judge-accounts.ts';
import type { RenderedDictionary } from '../../model/dictionary.ts';
import { DICTIONARY_START } from '../../model/report-data.ts';
import { toSafeLine } from '../../render/safe-text.ts';
import { wrapText } from '../../render/wrap-text.ts';
import { formatBytes } from '../../text/format-bytes.ts';
import { withName } from '../../text/name-once.ts';
import { defineCommand } from '../frame/command.ts';
import { textOption } from '../options/option-kinds.ts';
import { accountsOption, chooseAccounts } from '../steps/choose-accounts.ts';
import { loadOfflineSettings } from '../steps/load-settings.ts';

const DEFAULT_OUTPUT = 'docs.html';

/** What the tables and columns are, as one HTML page. */
export const docsCommand = defineCommand({
  description:
    'Writes a data dictionary as one HTML file that needs no script and no network: each table and column with its ' +
    'type and evidence, empty values, key, unit and description, and how columns changed. It contains no values ' +
    'from records. Descriptions and units come from the contract files. Reads the published file only: no request, no key, no lock.',
  options: {
    output: textOption({
      flag: 'output',
      valueName: 'file',
      summary: `Write this file instead of ${DEFAULT_OUTPUT}`,
      group: 'Docs:',
      example: 'site/data.html',
    }),
    accounts: accountsOption,
  },
  examples: [
    ['sluice docs', `Writes ${DEFAULT_OUTPUT} here`],
    ['sluice docs --json', 'The same for programs, in result'],
  ],
  async run(context, { values, globals }) {
    const { output = DEFAULT_OUTPUT } = values;
    context.chooseStop('quit');
    const chosen = await chooseAccounts(context, globals, values.accounts);
    const { findTarget } = await import('../steps/report-file.ts');
    const { writeOutput } = await import('../steps/output-file.ts');
    const target = await findTarget(context.cwd, output, {
      start: DICTIONARY_START,
      command: 'sluice docs',
      example: DEFAULT_OUTPUT,
    });
    const { engine, signal } = context;
    let made: RenderedDictionary;
    if (chosen === undefined) made = await engine.makeDictionary(await loadOfflineSettings(context, globals));
    else {
      const { listAccountsToReport } = await import('../steps/accounts-report.ts');
      const accounts = await listAccountsToReport(context, globals, chosen.chosen);
      made = await engine.makeAccountsDictionary(accounts, { signal });
    }
    const { html, summary, data } = made;
    const bytes = await writeOutput(target, html, context.randomHex(8));
    const failed = data.accounts.flatMap(({ account, error }) =>
      error === undefined ? [] : { account, error },
    );
    const [first] = failed;
    const isLost = first !== undefined && failed.length === data.accounts.length;
    const lines = [
      `Wrote ${toSafeLine(output)} (${formatBytes(bytes)})`,
      `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`,
      ...failed.map(({ account, error }) => `- ${account ?? ''}: ${toSafeLine(error.message)}`),
    ];
    return {
      exitCode: isLost ? judgeAccounts(failed.map(({ error }) => error.exitCode)) : 0,
      summary: `${summary}; written to ${output}`,
      result: { path: target.absolute, bytes, ...data },
      text: wrapText(lines.join('\n'), context.output.stdout.columns()),
      ...(isLost && {
        error: { ...first.error, message: withName(first.error.message, first.account ?? '') },
      }),
    };
  },
});
