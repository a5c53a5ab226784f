import type { ExitCode } from '../../model/errors.ts';
import type { CheckItem, CheckReport } from '../../model/reports.ts';
import type { ReportedError } from '../../model/run-report.ts';
import type { Settings } from '../../model/settings.ts';
import { defineAccountCommand } from '../steps/define-account-command.ts';
import type { CliContext } from '../frame/context.ts';
import { withName } from '../../text/name-once.ts';
import { withSharedChecks } from '../steps/shared-checks.ts';
import { loadSettings } from '../steps/load-settings.ts';

const checkAccounts = defineAccountCommand({
  accounts: 'each',
  description:
    'Tests everything a sync needs and names a fix for each failure. At most one request per stream. With ' +
    'fleet: in the config, also its database and its store.',
  options: {},
  examples: [
    ['sluice check', 'With ./sluice.yaml'],
    ['sluice check -c /etc/sluice.yaml --json', 'For a script'],
  ],
  async run(context, { globals }) {
    const { signal, clock, output, engine, ofAccount } = context;
    const settings = await loadSettings(context, globals);
    const checked = await engine.runChecks(settings, {
      signal,
      ...(ofAccount && { ofAccount: await ofAccount() }),
    });
    const report = { ...checked, items: [...checked.items, ...(await checkPrograms(context, settings))] };
    const { renderCheck, summarizeCheck } = await import('../../render/render-check.ts');
    return {
      exitCode: report.exitCode as ExitCode,
      summary: summarizeCheck(report),
      result: report,
      text: renderCheck(report, output.stdout, clock.now()),
      error: nameItem(report),
      requests: { used: report.requestsSpent },
    };
  },
});

/** Whether a sync would work, and what accounts share. */
export const checkCommand = withSharedChecks(checkAccounts);

/** A failed notice does not fail a run, so only `check` reports one that can reach nobody. */
async function checkPrograms({ env }: CliContext, { notify }: Settings): Promise<readonly CheckItem[]> {
  if (Object.keys(notify).length === 0) return [];
  const { findMissingPrograms } = await import('../../notify/find-missing-programs.ts');
  return findMissingPrograms(notify, { env, platform: process.platform }).map(
    ({ setting, program, flaw }) => ({
      name: 'notify',
      status: 'warning',
      detail: `${setting}: the program ${program} ${flaw}`,
      fix:
        flaw === 'is not executable'
          ? 'Allow it with chmod +x, or name another program.'
          : 'Correct it. A path is relative to the folder of the config; a plain name is looked up in PATH.',
    }),
  );
}

/** The failure behind the exit code, with the item that failed. */
function nameItem({ error, items }: CheckReport): ReportedError | undefined {
  const item = items.find(({ status, detail }) => status === 'failed' && detail === error?.message);
  if (error === undefined || item === undefined) return error;
  return { ...error, message: withName(item.detail, item.name) };
}
