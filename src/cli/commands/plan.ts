import type { ExitCode } from '../../model/errors.ts';
import type { PlanReport } from '../../model/reports.ts';
import type { Settings, SyncOptions } from '../../model/settings.ts';
import type { CommandOutcome } from '../command.ts';
import { defineCommand } from '../command.ts';
import type { CliContext } from '../context.ts';
import { flagOption } from '../options/option-kinds.ts';
import { loadSettings } from './load-settings.ts';
import { selectionOptions, toSelection } from './sync-options.ts';

/** What the next sync would cost. */
export const planCommand = defineCommand({
  description:
    'Tells what the next sync would read and cost. Asks each stream for its size: one request a stream.',
  options: {
    offline: flagOption({
      flag: 'offline',
      summary: 'Spend no request; use what earlier runs saw',
      group: 'Plan:',
    }),
    ...selectionOptions,
  },
  examples: [
    ['sluice plan', 'The next sync'],
    ['sluice plan --full-refresh --offline', 'What reading everything again would cost, with no request'],
  ],
  async run(context, { values, globals }) {
    const selection = toSelection(values);
    const settings = await loadSettings(context, globals);
    return planNextSync(context, settings, { ...selection, offline: values.offline ?? false });
  },
});

/** Plans a sync and shows the plan; `sync --dry-run` does the same. */
export async function planNextSync(
  context: CliContext,
  settings: Settings,
  options: SyncOptions & { readonly offline: boolean },
): Promise<CommandOutcome> {
  const { signal, clock, output, engine } = context;
  const plan = await engine.planSync(settings, { ...options, signal });
  const { renderPlan, summarizePlan } = await import('../render/render-plan.ts');
  return {
    exitCode: chooseExitCode(plan),
    summary: summarizePlan(plan),
    result: plan,
    text: renderPlan(plan, { nowMs: clock.now(), columns: output.stdout.columns() }),
    error: plan.streams.find(({ error }) => error !== undefined)?.error,
  };
}

// As for a sync: streams that fail alike have that code, and 5 says that others would go through.
function chooseExitCode({ streams }: PlanReport): ExitCode {
  const codes = new Set(streams.flatMap(({ error }) => (error === undefined ? [] : [error.exitCode])));
  const [only] = codes;
  if (only === undefined) return 0;
  const allFail = streams.every(({ error }) => error !== undefined);
  return allFail && codes.size === 1 ? only : 5;
}
