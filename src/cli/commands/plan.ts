import type { ExitCode } from '../../model/errors.ts';
import { nameKey } from '../../model/hash-key.ts';
import type { PlannedQuota, PlannedStream, PlanReport } from '../../model/plan-report.ts';
import type { Settings, SyncOptions } from '../../model/settings.ts';
import type { CommandOutcome } from '../frame/command.ts';
import { defineAccountCommand } from '../steps/define-account-command.ts';
import type { CliContext } from '../frame/context.ts';
import { flagOption } from '../options/option-kinds.ts';
import { toSafeLine } from '../../render/safe-text.ts';
import { wrapText } from '../../render/wrap-text.ts';
import { loadOfflineSettings, loadSettings } from '../steps/load-settings.ts';
import { selectionOptions, toSelection } from '../steps/sync-options.ts';

/** What the next sync would cost. */
export const planCommand = defineAccountCommand({
  accounts: 'each',
  description:
    'Shows what the next sync would read and cost. Asks each stream for its size: one request per stream.',
  options: {
    offline: flagOption({
      flag: 'offline',
      summary: 'Send no request; use what earlier runs saw',
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
    if (values.offline !== true) {
      return planNextSync(context, await loadSettings(context, globals), selection);
    }
    const settings = await loadOfflineSettings(context, globals);
    return toPlanOutcome(context, await context.engine.planOffline(settings, selection));
  },
});

/** Plans a sync and shows the plan; `sync --dry-run` does the same. */
export async function planNextSync(
  context: CliContext,
  settings: Settings,
  options: SyncOptions,
): Promise<CommandOutcome> {
  const { signal, engine, output, ofAccount } = context;
  for (const warning of settings.warnings) {
    output.writeNote(wrapText(`warning: ${toSafeLine(warning)}`, output.stderr.columns()));
  }
  // A plan that waits an hour for the quota is useless; instead it says what it could not ask.
  const plan = await engine.planSync(settings, {
    ...options,
    ...(ofAccount && { ofAccount: await ofAccount() }),
    maxWaitMs: 0,
    signal,
  });
  const from = {
    key: nameKey(settings),
    limits: settings.quotaLimits,
    quota: plan.quota,
    nowMs: context.clock.now(),
  };
  return toPlanOutcome(context, { ...plan, streams: plan.streams.map(adviseOffline) }, from);
}

// The engine's advice is about waiting longer, which a plan never does.
function adviseOffline(stream: PlannedStream): PlannedStream {
  if (stream.error?.code !== 'quota_exhausted') return stream;
  return {
    ...stream,
    error: { ...stream.error, hint: 'Plan again then, or now with sluice plan --offline.' },
  };
}

async function toPlanOutcome(
  { clock, output }: CliContext,
  plan: PlanReport,
  from?: PlannedQuota,
): Promise<CommandOutcome> {
  const { renderPlan, summarizePlan } = await import('../../render/render-plan.ts');
  return {
    exitCode: chooseExitCode(plan),
    summary: summarizePlan(plan),
    result: plan,
    text: renderPlan(plan, { nowMs: clock.now(), columns: output.stdout.columns() }),
    error: plan.streams.find(({ error }) => error !== undefined)?.error,
    requests: { used: plan.requestsSpent, planned: plan.totals.requests, from },
  };
}

// As for a sync: the code of the failure if all failed for the same reason, and 5 if others would succeed,
// unless only the quota kept the rest from being asked.
function chooseExitCode({ streams }: PlanReport): ExitCode {
  const codes = new Set(streams.flatMap(({ error }) => (error === undefined ? [] : [error.exitCode])));
  const [only] = codes;
  if (only === undefined) return 0;
  const allFail = streams.every(({ error }) => error !== undefined);
  return codes.size === 1 && (allFail || only === 75) ? only : 5;
}
