import { renderItems } from '../../render/render-check.ts';
import { formatCountOf } from '../../text/format-count.ts';
import type { Command, CommandOutcome } from '../frame/command.ts';
import type { CliContext } from '../frame/context.ts';
import type { FleetCheck } from '../frame/fleet-engine.ts';
import { globalOptions } from '../options/global-options.ts';
import { resolveValues } from '../options/resolve-values.ts';
import { requestConfig } from './load-settings.ts';

/** A check that also tries the fleet of the config, once for all accounts. */
export function withFleetCheck(command: Command): Command {
  return {
    ...command,
    async run(context, given) {
      const outcome = await command.run(context, given);
      const { flags } = given;
      const globals = resolveValues(globalOptions, { flags, env: context.env, nowMs: context.clock.now() });
      const fleet = await context.engine.fleet.check(requestConfig(context, globals));
      return fleet === undefined ? outcome : addFleet(context, outcome, fleet);
    },
  };
}

function addFleet({ output }: CliContext, outcome: CommandOutcome, fleet: FleetCheck): CommandOutcome {
  const { items, exitCode } = fleet;
  const failed = items.filter(({ status }) => status === 'failed');
  const [first] = failed;
  const said = first === undefined ? '' : `; of the fleet, ${formatCountOf(failed.length, 'check')} failed`;
  return {
    ...outcome,
    exitCode: outcome.exitCode === 0 ? exitCode : outcome.exitCode,
    summary: `${outcome.summary}${said}`,
    result: { ...(outcome.result as object), fleet: items },
    text: `${outcome.text}\n\nthe fleet:\n${renderItems(items, output.stdout)}`,
    ...(outcome.error === undefined &&
      first !== undefined &&
      exitCode !== 0 && {
        error: {
          code: exitCode === 6 ? 'storage_failed' : 'config_invalid',
          message: `${first.name}: ${first.detail}`,
          hint: first.fix ?? '',
          exitCode,
        },
      }),
  };
}
