import { type Command, defineCommand } from '../frame/command.ts';
import type { FleetEngine } from '../frame/fleet-engine.ts';
import { loadFleet, matchNames } from './load-fleet.ts';

/** A command that changes accounts of a fleet. */
export interface FleetChangeCommand {
  readonly what: Parameters<FleetEngine['change']>[2];
  readonly description: string;
  readonly examples: readonly (readonly [commandLine: string, does: string])[];
}

/** A command that changes the accounts that its argument names. */
export function defineFleetChange({ what, description, examples }: FleetChangeCommand): Command {
  return defineCommand({
    description,
    argument: {
      name: 'NAME',
      summary: 'an account, or several separated by commas; * stands for any text',
      required: true,
      isList: true,
    },
    options: {},
    examples,
    async run(context, { globals, argument }) {
      context.chooseStop('quit');
      const { settings, names } = await loadFleet(context, globals);
      const wanted = await matchNames(names, argument);
      // A nightly `run '*'` must not undo what somebody paused.
      const kind = what === 'run' && argument?.includes('*') === true ? 'run-unpaused' : what;
      const changes = await context.engine.fleet.change(settings, wanted, kind);
      const { renderFleetChanges, summarizeFleetChanges } =
        await import('../../render/render-fleet-changes.ts');
      return {
        exitCode: 0,
        summary: summarizeFleetChanges(changes),
        result: { accounts: changes },
        text: renderFleetChanges(changes),
      };
    },
  });
}
