import { defineAccountCommand } from '../steps/define-account-command.ts';
import { loadOfflineSettings } from '../steps/load-settings.ts';

/** Maintains lakehouses now. */
export const lakeMaintainCommand = defineAccountCommand({
  accounts: 'each',
  description:
    'Maintains the DuckLake of the config now, as syncs do once a day: joins small files, and removes snapshots and files ' +
    'that are older than retention.lake. Rows stay the same. No request, no key.',
  options: {},
  examples: [['sluice lake maintain', 'Before a copy of the bucket, or after many syncs in one day']],
  async run(context, { globals }) {
    context.chooseStop('close');
    const settings = await loadOfflineSettings(context, globals);
    const report = await context.engine.maintainLakes(settings, { signal: context.signal });
    const { renderMaintenance, summarizeMaintenance } = await import('../../render/render-maintenance.ts');
    return {
      exitCode: 0,
      summary: summarizeMaintenance(report),
      result: report,
      text: renderMaintenance(report, context.output.stdout.columns()),
    };
  },
});
