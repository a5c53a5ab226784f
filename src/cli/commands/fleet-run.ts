import { defineFleetChange } from '../steps/define-fleet-change.ts';

/** Syncs accounts now. */
export const fleetRunCommand = defineFleetChange({
  what: 'run',
  description:
    'Makes accounts due now, before those of the schedule: the next free lane of a worker takes them. One that is at ' +
    'work already is not begun twice. A paused one is resumed if it is named, and left out where * stands for it.',
  examples: [
    ['sluice fleet run acme', 'One account'],
    ["sluice fleet run 'eu-*'", 'All accounts whose names begin with eu-'],
    ['sluice fleet run acme --accept-new-key', 'Its new key returns other data'],
  ],
});
