import { defineFleetChange } from '../steps/define-fleet-change.ts';

/** Begins no further run of accounts. */
export const fleetPauseCommand = defineFleetChange({
  what: 'pause',
  description:
    'Begins no further run of these accounts, until they are resumed. A run that is under way goes on to its end.',
  examples: [['sluice fleet pause acme', 'While its key is replaced']],
});
