import { renderItems } from '../../render/render-check.ts';
import type { ExitCode } from '../../model/errors.ts';
import type { CheckItem } from '../../model/reports.ts';
import { type ReportedError, toReportedError } from '../../model/run-report.ts';
import { formatCountOf } from '../../text/format-count.ts';
import type { Command, CommandOutcome } from '../frame/command.ts';
import type { CliContext } from '../frame/context.ts';
import type { ConfigRequest } from '../frame/engine.ts';
import { globalOptions } from '../options/global-options.ts';
import { resolveValues } from '../options/resolve-values.ts';
import { requestConfig } from './load-settings.ts';

/** Checks of something that no single account has to itself. */
interface SharedCheck {
  /** Its member of the result. */
  readonly key: 'files' | 'fleet';
  /** What was checked, for people. */
  readonly what: string;
  readonly items: readonly CheckItem[];
  /** The failure behind the first item that failed. */
  readonly error: ReportedError | undefined;
}

/** A check that also tries, once for all accounts, what they share: the files that join them, and the fleet. */
export function withSharedChecks(command: Command): Command {
  return {
    ...command,
    async run(context, given) {
      const outcome = await command.run(context, given);
      const { flags } = given;
      const globals = resolveValues(globalOptions, { flags, env: context.env, nowMs: context.clock.now() });
      const request = requestConfig(context, globals);
      const checks = [await checkJoint(context, request), await checkFleet(context, request)];
      return checks.reduce<CommandOutcome>(
        (before, check) => (check === undefined ? before : addCheck(context, before, check)),
        outcome,
      );
    },
  };
}

async function checkJoint({ engine }: CliContext, request: ConfigRequest): Promise<SharedCheck | undefined> {
  const known = await engine.listAccounts(request);
  const tried = known === undefined ? [] : await engine.tryJoint(known);
  if (tried.length === 0) return undefined;
  const name = 'all accounts';
  const items = tried.map(({ path, error }): CheckItem =>
    error === undefined
      ? { name, status: 'ok', detail: path, fix: undefined }
      : { name, status: 'failed', detail: error.message, fix: error.hint },
  );
  const failed = tried.find(({ error }) => error !== undefined);
  const error = failed?.error && toReportedError(failed.error);
  return { key: 'files', what: 'the files with all accounts', items, error };
}

async function checkFleet({ engine }: CliContext, request: ConfigRequest): Promise<SharedCheck | undefined> {
  const fleet = await engine.fleet.check(request);
  if (fleet === undefined) return undefined;
  const { items, exitCode } = fleet;
  return { key: 'fleet', what: 'the fleet', items, error: describeFailure(items, exitCode) };
}

function describeFailure(items: readonly CheckItem[], exitCode: ExitCode): ReportedError | undefined {
  const first = items.find(({ status }) => status === 'failed');
  if (first === undefined || exitCode === 0) return undefined;
  const code = exitCode === 6 ? 'storage_failed' : 'config_invalid';
  return { code, message: `${first.name}: ${first.detail}`, hint: first.fix ?? '', exitCode };
}

function addCheck(
  { output }: CliContext,
  outcome: CommandOutcome,
  { key, what, items, error }: SharedCheck,
): CommandOutcome {
  const failed = items.filter(({ status }) => status === 'failed').length;
  const said = failed === 0 ? '' : `; of ${what}, ${formatCountOf(failed, 'check')} failed`;
  return {
    ...outcome,
    exitCode: outcome.exitCode === 0 ? (error?.exitCode ?? 0) : outcome.exitCode,
    summary: `${outcome.summary}${said}`,
    result: { ...(outcome.result as object), [key]: items },
    text: `${outcome.text}\n\n${what}:\n${renderItems(items, output.stdout)}`,
    ...(outcome.error === undefined && error !== undefined && { error }),
  };
}
