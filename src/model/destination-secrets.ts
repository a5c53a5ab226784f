import type { Destination } from './destination.ts';

/** Secrets of destinations, which no output may show. */
export function listDestinationSecrets(destinations: readonly Destination[]): readonly string[] {
  return destinations.flatMap((one) => ('secrets' in one ? one.secrets : []));
}
