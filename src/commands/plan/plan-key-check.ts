import { readCheckpoints } from '../../../state/checkpoints.ts';
import { readMeta } from '../../../state/migrations.ts';
import { formatCountOf } from '../../text/format-count.ts';
import type { OfflineSettings, Settings, SyncOptions } from '../../model/settings.ts';
import { isScanOf, nameOf, nameScan, sliceStream, type Stream } from '../../model/stream.ts';
import { describeIdentity, isNewKey, judgeIdentity } from '../../storage/identity.ts';
import { refuseKeyOfOther } from '../../storage/other-accounts.ts';
import { assertIdentity } from '../../../state/owner.ts';
import { withoutKey } from '../../run/refuse-requests.ts';
import { withState } from '../../storage/with-held.ts';

/** What the next sync does before its first stream, because key or destination changed. */
export interface KeyCheck {
  readonly requests: number;
  readonly notes: readonly string[];
}

export const noKeyCheck: KeyCheck = { requests: 0, notes: [] };

/**
 * Compares a config with the state of earlier runs, as the next sync will.
 *
 * @throws ConfigError if that sync would refuse to run
 */
export async function planKeyCheck(settings: Settings, options: SyncOptions): Promise<KeyCheck> {
  const check = await withState(settings, async (database): Promise<KeyCheck> => {
    assertIdentity(await readMeta(database), settings);
    const identity = await judgeIdentity(settings, database, options);
    refuseKeyOfOther(settings, identity, options);
    if (options.acceptNewKey === true || identity.isBlank) return noKeyCheck;
    const note = describeIdentity(identity);
    const open = isNewKey(identity)
      ? (await readCheckpoints(database)).map(({ stream, slice }) => nameScan(stream, slice))
      : [...identity.unproved.keys()];
    const requests = settings.streams.reduce((sum, stream) => sum + countQuestions(stream, open), 0);
    const cost = requests === 0 ? '' : ` (about ${formatCountOf(requests, 'request')})`;
    return { requests, notes: note === undefined ? [] : [`${note}${cost}`] };
  });
  if (check !== undefined) return check;
  refuseKeyOfOther(settings, { key: 'unknown', isBlank: true }, options);
  return noKeyCheck;
}

/** Each slice is asked for its own rows; a stream whose slices were different shows theirs by its first one. */
function countQuestions(stream: Stream, open: readonly string[]): number {
  const own = sliceStream(stream).filter((scan) => open.includes(nameOf(scan)));
  return Math.max(own.length, open.some((name) => isScanOf(name, stream.name)) ? 1 : 0);
}

/** The same without a key: only the source can be compared. */
export async function assertSameSource(settings: OfflineSettings): Promise<void> {
  await withState(settings, async (database) => {
    assertIdentity(await readMeta(database), withoutKey(settings));
  });
}
