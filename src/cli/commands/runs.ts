import type { RunSummary } from '../../model/reports.ts';
import { kindOf, type RunReport, withoutEnd } from '../../model/run-report.ts';
import type { CommandOutcome } from '../frame/command.ts';
import { defineAccountCommand } from '../steps/define-account-command.ts';
import type { CliContext } from '../frame/context.ts';
import { formatCountOf } from '../../text/format-count.ts';
import { toSafeLine } from '../../render/safe-text.ts';
import { wrapText } from '../../render/wrap-text.ts';
import { loadOfflineSettings } from '../steps/load-settings.ts';

const MOST_RUNS = 20;

/** Earlier runs. */
export const runsCommand = defineAccountCommand({
  accounts: ({ argument }) => (argument === undefined ? 'each' : 'one'),
  description: `Shows the last ${MOST_RUNS} runs, or one of them stream by stream.`,
  argument: { name: 'ID', summary: 'the id of a run', required: false },
  options: {},
  examples: [
    ['sluice runs', 'The last runs'],
    ['sluice runs nightly-2026-01-31', 'One run in detail'],
  ],
  async run(context, { globals, argument }) {
    context.chooseStop('quit');
    const settings = await loadOfflineSettings(context, globals);
    if (argument !== undefined)
      return toRunOutcome(await context.engine.readRun(settings, argument), context);
    const runs = await context.engine.readRuns(settings, { limit: MOST_RUNS });
    const { renderRuns } = await import('../../render/render-runs.ts');
    const { describeRefusal, summarizeRefusal } = await import('../../render/describe-refusal.ts');
    const refused = await context.engine.findRefusal(settings);
    const columns = context.output.stdout.columns();
    const missing = describeMissing(await context.engine.findUnreadableState(settings));
    const blocks = [
      renderRuns(runs, columns),
      ...[describeRefusal(refused), missing].map((text) => wrapText(text, columns)),
    ];
    const counts = [formatCountOf(runs.length, 'run'), summarizeRefusal(refused)];
    return {
      exitCode: 0,
      summary: counts.filter((part) => part !== '').join(', '),
      result: runs.map(withoutEnd),
      text: blocks.filter((block) => block !== '').join('\n\n'),
    };
  },
});

/** The state folder has runs that published nothing, such as refused or failed ones. */
function describeMissing(unreadable: string | undefined): string {
  return unreadable === undefined
    ? ''
    : `Only published runs are shown: this user cannot read the state folder, which has the others: ${toSafeLine(unreadable)}`;
}

async function toRunOutcome(run: RunReport | RunSummary, context: CliContext): Promise<CommandOutcome> {
  const summary = `run ${run.runId}: ${run.status}`;
  const { renderRunSummary, toRunSummary } = await import('../../render/render-runs.ts');
  if (!('streams' in run))
    return { exitCode: 0, summary, result: withoutEnd(run), text: renderRunSummary(run) };
  const { renderRunReport } = await import('../../render/render-sync.ts');
  const options = { nowMs: context.clock.now(), columns: context.output.stdout.columns() };
  const text = `${renderRunSummary(toRunSummary(run))}\n\n${renderRunReport(run, options)}`;
  return { exitCode: 0, summary, result: { ...withoutEnd(run), kind: kindOf(run) }, text };
}
