import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolders } from '../../files/make-folders.ts';
import type { AccountsReport } from '../../model/accounts-report.ts';
import type { CommandOutcome } from '../frame/command.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import type { KnownAccounts, RunningSimulator } from '../frame/engine.ts';
import { renderAccountsReport, summarizeAccounts } from '../../render/render-accounts-sync.ts';
import { placeAccounts } from '../../config/config-template.ts';
import { syncAccounts } from '../steps/sync-accounts.ts';
import { type AccountTables, describeAccountTables, describeAccountsNext } from './accounts-text.ts';
import { DEMO_ACCOUNTS } from './demo-accounts.ts';
import { writeDemoConfig } from './demo-folder.ts';
import { writeHeading } from './demo-text.ts';

/** What the demo of several accounts is about. */
export interface AccountsScene {
  /** 2 to 9. */
  readonly count: number;
  /** The newest day of the data, `2026-01-31`. */
  readonly day: string;
  /** Absolute. */
  readonly dir: string;
  /** The folder as the user named it. */
  readonly shownAs: string;
}

/** An account of the demo and its made-up key. */
interface DemoAccount {
  readonly name: string;
  readonly key: string;
}

/** The demo with several accounts in one config, each with a key and files of its own. */
export async function runAccountsStory(
  context: CliContext,
  globals: GlobalValues,
  scene: AccountsScene,
): Promise<CommandOutcome> {
  const accounts = DEMO_ACCOUNTS.slice(0, scene.count).map((name) => ({ name, key: `demo-key-of-${name}` }));
  const simulator = await context.engine.startSimulator({ day: scene.day, dates: 'relative', accounts });
  try {
    const config = await writeProject(context, scene, { accounts, baseUrl: simulator.baseUrl });
    // Without HOME, the demo's ledgers lie in the demo's own folder and not among the user's.
    const own = { ...context, env: {} };
    const known = await context.engine.listAccounts({ path: config, env: {}, nowMs: context.clock.now() });
    if (known === undefined) throw new Error('the config of the demo has no accounts');
    return await tell(own, { ...globals, config }, { ...scene, simulator, known });
  } finally {
    await simulator.close();
  }
}

interface ReadyScene extends AccountsScene {
  readonly simulator: RunningSimulator;
  readonly known: KnownAccounts;
}

async function tell(
  context: CliContext,
  globals: GlobalValues,
  { simulator, known, dir, shownAs, count }: ReadyScene,
): Promise<CommandOutcome> {
  const { output, clock } = context;
  const show = (part: string) => {
    if (globals.json !== true) output.writeResult(`${part}\n`);
  };
  const heading = (title: string) => show(writeHeading(title, output.stdout.paint));
  // The next demo starts over, so it keeps no pages.
  const own = { ...context, chooseStop: () => undefined };
  const syncAll = async () => {
    // The simulated day passes in no time, so by the freshness rule nothing could be new yet.
    const options = { sync: { force: true }, wantsMetrics: false };
    const { report } = await syncAccounts(own, globals, { ...known, chosen: known.accounts }, options);
    show(`\n${renderAccountsReport(report, { nowMs: clock.now(), columns: output.stdout.columns() })}\n`);
    return report;
  };

  heading(`A simulated API for ${count} accounts is up at ${simulator.baseUrl}. First sync: everything.`);
  const first = await syncAll();
  if (first.exitCode !== 0) return toOutcome({ dir, first }, first, '');

  simulator.advanceDay();
  heading('A day passes. Second sync: what is new, and what was restated.');
  const second = await syncAll();
  if (second.exitCode !== 0) return toOutcome({ dir, first, second }, second, '');

  heading('The rows of each table, by account, each from its own file');
  const tables = await countRows(context, known, second);
  show(`${describeAccountTables(tables, output.stdout.columns())}\n`);
  const next = describeAccountsNext(tables, join(shownAs, 'sluice.yaml'));
  return toOutcome({ dir, first, second, tables }, second, next);
}

/** Writes the config and, beside it, a file for each key that only its owner can read. Returns the config's path. */
async function writeProject(
  { engine }: CliContext,
  { dir }: AccountsScene,
  { accounts, baseUrl }: { readonly accounts: readonly DemoAccount[]; readonly baseUrl: string },
): Promise<string> {
  const names = accounts.map(({ name }) => name);
  const template = { baseUrl, ...placeAccounts('.', names), folder: dir };
  const path = await writeDemoConfig(dir, await engine.buildConfigTemplate(template));
  const { ACCOUNT_KEY_FILE } = await import('../../config/secret-paths.ts');
  makeFolders(join(dir, 'keys'), 0o700);
  for (const { name, key } of accounts) {
    const file = join(dir, ACCOUNT_KEY_FILE.replace('${account}', name));
    await writeFile(file, `${key}\n`, { mode: 0o600 });
    await chmod(file, 0o600);
  }
  return path;
}

async function countRows(
  { engine }: CliContext,
  { data }: KnownAccounts,
  { accounts }: AccountsReport,
): Promise<readonly AccountTables[]> {
  const found: AccountTables[] = [];
  for (const { account, report } of accounts) {
    const file = data.find((one) => one.account === account)?.readersFile;
    if (file === undefined || report === undefined) continue;
    const counts = report.streams.map(({ table }) => `SELECT '${table}', count(*) FROM "${table}"`);
    const { rows } = await engine.queryPublished(file, counts.join(' UNION ALL '), {});
    const tables = Object.fromEntries(rows.map(([table, count]) => [String(table), Number(count)]));
    found.push({ account, duckdb: file, rows: tables });
  }
  return found;
}

function toOutcome(result: unknown, last: AccountsReport, text: string): CommandOutcome {
  const isDone = last.exitCode === 0;
  const summary = isDone
    ? `two syncs of ${last.accounts.length} accounts, one simulated day apart`
    : `the demo did not finish: ${summarizeAccounts(last)}`;
  const error = last.accounts.find(({ exitCode }) => exitCode !== 0)?.error;
  return { exitCode: last.exitCode, summary, result, text, error };
}
