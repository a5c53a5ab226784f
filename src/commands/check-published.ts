import { LockedError } from '../model/errors.ts';
import type { OfflineSettings } from '../model/settings.ts';
import { findMissing, findPublishedFaults, tryPublished } from '../storage/published-fault.ts';
import { attempt, okItem, type Outcome } from './check-outcome.ts';

const HELD_FIX =
  'Readers have to wait for that program. A sync puts a new file in its place: what the program writes into this one is lost then.';

/** Reads the published files completely; unchanged files are not reported. */
export async function checkPublished(settings: OfflineSettings): Promise<readonly Outcome[]> {
  const tried = await attempt('published file', async () => {
    await tryPublished(settings);
    return okItem('published file', '');
  });
  const isHeld = tried.error instanceof LockedError;
  if (tried.error !== undefined && !isHeld) return [tried];
  const held = isHeld ? [{ detail: tried.item.detail, fix: HELD_FIX }] : [];
  const faults = [...held, ...(await findMissing(settings)), ...(await findPublishedFaults(settings))];
  return faults.map(({ detail, fix }) => ({
    item: { name: 'published file', status: 'warning', detail, fix },
    error: undefined,
  }));
}
