import { type Command, defineCommand } from '../frame/command.ts';
import type { FleetChangeKind } from '../frame/fleet-engine.ts';
import { flagOption } from '../options/option-kinds.ts';
import { usageError } from '../options/usage-error.ts';
import { loadFleet, matchNames } from './load-fleet.ts';

/** A command that changes accounts of a fleet. */
export interface FleetChangeCommand {
  readonly what: 'run' | 'pause' | 'resume';
  readonly description: string;
  readonly examples: readonly (readonly [commandLine: string, does: string])[];
}

const acceptNewKey = flagOption({
  flag: 'accept-new-key',
  summary: 'Continue with a new key that does not return the expected rows, and read everything again',
  group: 'Safety:',
});

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
    options: what === 'run' ? { acceptNewKey } : {},
    examples,
    async run(context, { values, globals, argument }) {
      context.chooseStop('quit');
      const { settings, names } = await loadFleet(context, globals);
      const wanted = await matchNames(names, argument);
      const kind = chooseKind(what, { acceptsNewKey: values['acceptNewKey'] === true, argument });
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

function chooseKind(
  what: FleetChangeCommand['what'],
  {
    acceptsNewKey,
    argument = '',
  }: { readonly acceptsNewKey: boolean; readonly argument: string | undefined },
): FleetChangeKind {
  const isPattern = argument.includes('*');
  if (acceptsNewKey && isPattern)
    throw usageError(
      '--accept-new-key is for accounts by name, not for a pattern',
      'Name them, e.g. sluice fleet run acme --accept-new-key. Nothing was changed.',
    );
  if (acceptsNewKey) return 'run-with-new-key';
  // A nightly `run '*'` must not undo what somebody paused.
  return what === 'run' && isPattern ? 'run-unpaused' : what;
}
