import { lockDestinations } from '../../state/destination-lock.ts';
import type { StateLock } from '../../state/lock.ts';
import { resolveLinks } from '../files/real-paths.ts';
import type { OfflineSettings } from '../model/settings.ts';

/** Locks a run's destinations, so that no run of another state folder publishes in between. */
export function lockTargets({
  publishesDuckdb,
  duckdbPath,
  lakePath,
}: Pick<OfflineSettings, 'publishesDuckdb' | 'duckdbPath' | 'lakePath'>): Promise<StateLock> {
  return lockDestinations([
    ...(publishesDuckdb ? [resolveLinks(duckdbPath)] : []),
    ...(lakePath === undefined ? [] : [resolveLinks(lakePath)]),
  ]);
}
