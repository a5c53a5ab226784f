import { formatCountOf } from '../../text/format-count.ts';
import { defineCommand } from '../frame/command.ts';
import { loadFleet } from '../steps/load-fleet.ts';

/** Makes the tables of a fleet. */
export const fleetInitCommand = defineCommand({
  description:
    'Makes the tables and the queue of the fleet in fleet.database, or brings them up to date after an upgrade, and ' +
    'adds the accounts of the config. Tries the store. Run it once, from one place; repeating it does no harm.',
  options: {},
  examples: [
    ['sluice fleet init', 'Before the first worker, and after an upgrade'],
    ['sluice fleet init --json', 'From a deployment job'],
  ],
  async run(context, { globals }) {
    context.chooseStop('quit');
    const { settings, names } = await loadFleet(context, globals);
    const found = await context.engine.fleet.init(settings, names, context.clock.now());
    const { renderFleetInit } = await import('../../render/render-fleet-changes.ts');
    const summary = `the fleet is ready in ${found.database}: ${formatCountOf(names.length, 'account')}, ${found.added} new`;
    return { exitCode: 0, summary, result: found, text: renderFleetInit(found, names.length) };
  },
});
