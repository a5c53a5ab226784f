import { lockDestinations } from '../../state/destination-lock.ts';
import type { OfflineSettings } from '../model/settings.ts';
import type { StateLock } from '../model/state-lock.ts';
import { listPublishers } from '../publish/registry.ts';

/** Locks a run's destinations, so that no run of another state folder publishes in between. */
export function lockTargets(settings: OfflineSettings): Promise<StateLock> {
  return lockDestinations(listPublishers(settings).flatMap(({ local }) => local ?? []));
}
