import { expect, it } from 'vitest';
import { initFleet } from '../../../src/cli/fleet/fleet-calls.ts';
import type { FleetSettings } from '../../../src/model/fleet.ts';

it.each([
  ['99 * * * *', 'UTC', 'fleet.schedule: '],
  ['15 6 * * *', 'Europe/Berln', 'fleet.timezone: '],
])('a schedule %s in %s is refused before the database is opened', async (expression, timezone, words) => {
  const settings = { schedule: { expression, timezone }, jitterMs: 0 } as unknown as FleetSettings;
  await expect(initFleet(settings, ['acme'], Date.UTC(2026, 0, 31))).rejects.toThrow(words);
});
