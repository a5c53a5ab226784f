import type { FleetSchedule } from '../../fleet/worker/plan-next.ts';
import { ConfigError } from '../../model/errors.ts';
import type { FleetSettings } from '../../model/fleet.ts';
import { parseCron } from '../../schedule/cron-schedule.ts';

/**
 * When accounts of a fleet are due.
 *
 * @throws ConfigError (2) for an expression or a time zone that does not exist
 */
export function readSchedule({ schedule, jitterMs }: FleetSettings, nowMs: number): FleetSchedule {
  try {
    const cron = schedule && parseCron(schedule.expression, schedule.timezone, nowMs);
    return { cron, jitterMs };
  } catch (thrown) {
    if (!(thrown instanceof ConfigError)) throw thrown;
    // It speaks of the options of `schedule`.
    const message = thrown.message
      .replace(/^--cron /, 'fleet.schedule: ')
      .replace(/^--timezone /, 'fleet.timezone: ');
    throw new ConfigError(message, {
      code: 'config_invalid',
      hint: "Write minute, hour, day, month and day of week, e.g. schedule: '15 6 * * *', and a time zone such as Europe/Berlin. Nothing was requested.",
      cause: thrown,
    });
  }
}
