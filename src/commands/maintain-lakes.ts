import { lockStateFolder } from '../../state/lock.ts';
import { type Clock, systemClock } from '../model/clock.ts';
import type { MaintainedDestination, MaintainReport } from '../model/reports.ts';
import type { OfflineSettings } from '../model/settings.ts';
import { listPublishers } from '../publish/registry.ts';
import { withoutKey } from '../run/refuse-requests.ts';

export interface MaintainOptions {
  readonly clock?: Clock | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Maintains the lakehouses of a config now: no request, no key. Rows stay the same.
 *
 * @throws LockedError (75) while a run is active; PublishError
 */
export async function maintainLakes(
  settings: OfflineSettings,
  { clock = systemClock, signal }: MaintainOptions = {},
): Promise<MaintainReport> {
  const publishers = listPublishers(withoutKey(settings));
  if (!publishers.some((one) => one.maintain !== undefined)) return { destinations: [] };
  const lock = await lockStateFolder(settings.stateDir, new Date(clock.now()).toISOString(), 'lake maintain');
  try {
    const destinations: MaintainedDestination[] = [];
    for (const publisher of publishers) {
      const done = await publisher.maintain?.({ clock, signal });
      if (done !== undefined) destinations.push(done);
    }
    return { destinations };
  } finally {
    await lock.release();
  }
}
