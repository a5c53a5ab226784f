import { defineFleetChange } from '../steps/define-fleet-change.ts';

/** Lets runs of accounts begin again. */
export const fleetResumeCommand = defineFleetChange({
  what: 'resume',
  description: 'Lets runs of paused accounts begin again: at once, if their time has come.',
  examples: [["sluice fleet resume '*'", 'All accounts']],
});
