import { defineCommand } from '../frame/command.ts';
import { flagOption } from '../options/option-kinds.ts';
import { loadFleet, readName } from '../steps/load-fleet.ts';

const group = 'Repairing:';

/** Ends the lease of an account. */
export const fleetRepairCommand = defineCommand({
  description:
    'Ends the lease of an account: what the worker that has it still does is refused, and another one continues at ' +
    'once. Names objects in the store that killed runs left. A lease ends by itself after fleet.lease; this is for a ' +
    'worker that renews it and is stuck.',
  argument: { name: 'NAME', summary: 'the name of the account', required: true },
  options: {
    removeOrphans: flagOption({ flag: 'remove-orphans', summary: 'Delete those objects', group }),
    forgetState: flagOption({
      flag: 'forget-state',
      summary:
        'Begin without the state in the store: rows come from a destination that has them, or are read again',
      group,
    }),
  },
  examples: [
    ['sluice fleet repair acme', 'Free it, and name what is left over'],
    ['sluice fleet repair acme --forget-state', 'Its object in the store is lost, or cannot be decrypted'],
  ],
  async run(context, { values, globals, argument }) {
    context.chooseStop('quit');
    const { settings, names } = await loadFleet(context, globals);
    const account = readName(argument);
    const repair = await context.engine.fleet.repair(settings, account, {
      isInConfig: names.includes(account),
      removesOrphans: values.removeOrphans === true,
      forgetsState: values.forgetState === true,
    });
    const { renderFleetRepair, summarizeFleetChanges } = await import('../../render/render-fleet-changes.ts');
    return {
      exitCode: 0,
      summary: summarizeFleetChanges([repair]),
      result: repair,
      text: renderFleetRepair(repair),
    };
  },
});
