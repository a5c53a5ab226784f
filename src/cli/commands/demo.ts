import { join, resolve } from 'node:path';
import type { QueryResult } from '../../model/reports.ts';
import type { RunReport } from '../../model/run-report.ts';
import type { Settings } from '../../model/settings.ts';
import type { CommandInput, CommandOutcome } from '../frame/command.ts';
import { defineCommand } from '../frame/command.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import type { RunningSimulator } from '../frame/engine.ts';
import { countOption, textOption } from '../options/option-kinds.ts';
import { openProgressDisplay } from '../progress/open-display.ts';

const DAY_MS = 86_400_000;
const options = {
  dir: textOption({
    flag: 'dir',
    valueName: 'folder',
    summary: 'Folder to create (default ./sluice-demo)',
    group: 'Demo:',
    example: './sluice-demo',
  }),
  accounts: countOption({
    flag: 'accounts',
    summary: 'Accounts to sync, each with a key and files of its own (default: one key, no accounts)',
    group: 'Demo:',
    example: '3',
    min: 2,
    max: 9,
  }),
} as const;

/** The whole path from API to query, on this machine alone. */
export const demoCommand = defineCommand({
  description:
    'Starts a simulated API, syncs it, lets a day pass, syncs what is new, and shows the ' +
    'tables. Leaves a DuckDB file and its config in a folder.',
  options,
  examples: [
    ['sluice demo', 'In ./sluice-demo'],
    ['sluice demo --dir /tmp/demo', 'Somewhere else'],
    ['sluice demo --accounts 3', 'With several accounts in one config'],
  ],
  run: runDemo,
});

async function runDemo(context: CliContext, input: CommandInput<typeof options>): Promise<CommandOutcome> {
  const { prepareDemoFolder } = await import('../demo/demo-folder.ts');
  const shownAs = input.values.dir ?? './sluice-demo';
  const dir = resolve(context.cwd, shownAs);
  await prepareDemoFolder(dir, shownAs);
  // Starts with yesterday's data, so that the day that passes ends today.
  const day = new Date(context.clock.now() - DAY_MS).toISOString().slice(0, 10);
  const { accounts: count } = input.values;
  if (count !== undefined) {
    const { runAccountsStory } = await import('../demo/accounts-story.ts');
    return runAccountsStory(context, input.globals, { count, day, dir, shownAs });
  }
  // The docs' output of the demo is then the same on every day.
  const simulator = await context.engine.startSimulator({ day, dates: 'relative' });
  try {
    return await runStory(context, input.globals, { simulator, dir, shownAs });
  } finally {
    await simulator.close();
  }
}

interface Scene {
  readonly simulator: RunningSimulator;
  readonly dir: string;
  readonly shownAs: string;
}

async function runStory(context: CliContext, globals: GlobalValues, scene: Scene): Promise<CommandOutcome> {
  const { engine, output } = context;
  const text = await import('../demo/demo-text.ts');
  const { DEMO_QUERY } = await import('../demo/demo-query.ts');
  const { formatQueryResult } = await import('../../render/query-formats.ts');
  const show = (part: string) => {
    if (globals.json !== true) output.writeResult(`${part}\n`);
  };
  const heading = (title: string) => show(text.writeHeading(title, output.stdout.paint));

  const settings = await writeConfig(context, scene);
  heading(`A simulated API is up at ${scene.simulator.baseUrl}. First sync: everything.`);
  const first = await syncOnce(context, globals, settings);
  show(`\n${await renderReport(first, context)}\n`);
  if (first.exitCode !== 0) return toOutcome({ dir: scene.dir, first }, first, '');

  scene.simulator.advanceDay();
  heading('A day passes. Second sync: what is new, and what was restated.');
  const second = await syncOnce(context, globals, settings);
  show(`\n${await renderReport(second, context)}\n`);
  if (second.exitCode !== 0) return toOutcome({ dir: scene.dir, first, second }, second, '');

  heading('The tables');
  show(`${text.describeDays(first, second)}\n`);
  const query: QueryResult = await engine.queryPublished(settings.readersFile, DEMO_QUERY, {});
  heading('A query');
  show(`${text.describeQuery(formatQueryResult(query, 'table', output.stdout.columns()))}\n`);
  const next = text.describeNextSteps(settings.readersFile, join(scene.shownAs, 'sluice.yaml'));
  return toOutcome({ dir: scene.dir, duckdb: settings.readersFile, first, second, query }, second, next);
}

async function writeConfig({ engine, clock }: CliContext, { simulator, dir }: Scene): Promise<Settings> {
  const template = { baseUrl: simulator.baseUrl, duckdb: './warehouse.duckdb', folder: dir };
  const { writeDemoConfig } = await import('../demo/demo-folder.ts');
  const path = await writeDemoConfig(dir, await engine.buildConfigTemplate(template));
  // Without HOME, the demo's ledger lies in the demo's own folder and not among the user's.
  const env = { ANALYTICS_API_KEY: simulator.key };
  return engine.loadSettings({ path, env, nowMs: clock.now() });
}

async function syncOnce(context: CliContext, globals: GlobalValues, settings: Settings): Promise<RunReport> {
  const display = await openProgressDisplay(context, globals);
  try {
    // The simulated day passes in no time, so by the freshness rule nothing could be new yet.
    const options = { force: true, signal: context.signal, onProgress: display.onProgress };
    return await context.engine.runSync(settings, options);
  } finally {
    display.close();
  }
}

async function renderReport(report: RunReport, { clock, output }: CliContext): Promise<string> {
  const { renderRunReport } = await import('../../render/render-sync.ts');
  return renderRunReport(report, { nowMs: clock.now(), columns: output.stdout.columns() });
}

function toOutcome(result: unknown, last: RunReport, text: string): CommandOutcome {
  const error = last.error ?? last.streams.find((stream) => stream.error !== undefined)?.error;
  const summary = last.exitCode === 0 ? 'two syncs, one simulated day apart' : 'the demo did not finish';
  return { exitCode: last.exitCode, summary, result, text, error };
}
