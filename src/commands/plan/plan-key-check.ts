import { readCheckpoints } from '../../../state/checkpoints.ts';
import { readMeta } from '../../../state/migrations.ts';
import { formatCountOf } from '../../text/format-count.ts';
import type { OfflineSettings, Settings, SyncOptions } from '../../model/settings.ts';
import { nameOf, nameScan, sliceStream } from '../../model/stream.ts';
import { describeIdentity, judgeIdentity } from '../../storage/identity.ts';
import { assertIdentity } from '../../storage/open-warehouse.ts';
import { withoutKey } from '../../run/refuse-requests.ts';
import { withState } from '../../storage/with-held.ts';

/** What the next sync does before its first stream, because key or destination changed. */
export interface KeyCheck {
  readonly requests: number;
  readonly notes: readonly string[];
}

export const noKeyCheck: KeyCheck = { requests: 0, notes: [] };

/**
 * Compares a config with what earlier runs left, as the next sync will.
 *
 * @throws ConfigError if that sync would refuse to run
 */
export async function planKeyCheck(settings: Settings, options: SyncOptions): Promise<KeyCheck> {
  const check = await withState(settings, async (database): Promise<KeyCheck> => {
    assertIdentity(await readMeta(database), settings);
    const identity = await judgeIdentity(settings, database, options);
    const note = describeIdentity(identity);
    if (options.acceptNewKey === true || identity.isBlank) return noKeyCheck;
    const isRotated = identity.key !== 'same';
    const open = isRotated
      ? (await readCheckpoints(database)).map(({ stream, slice }) => nameScan(stream, slice))
      : [...identity.unproved.keys()];
    const own = settings.streams.flatMap((stream) => {
      const scans = sliceStream(stream).map(nameOf);
      const asked = scans.filter((name) => open.includes(name)).length;
      // A stream whose slices are others now shows its rows by the first one.
      const isOpen = open.some((name) => name === stream.name || name.startsWith(`${stream.name} (`));
      return asked === 0 && isOpen ? [1] : [asked];
    });
    const requests = own.reduce((sum, one) => sum + one, 0);
    const cost = requests === 0 ? '' : ` (about ${formatCountOf(requests, 'request')})`;
    return { requests, notes: note === undefined ? [] : [`${note}${cost}`] };
  });
  return check ?? noKeyCheck;
}

/** The same without a key: only the source can be compared. */
export async function assertSameSource(settings: OfflineSettings): Promise<void> {
  await withState(settings, async (database) => {
    assertIdentity(await readMeta(database), withoutKey(settings));
  });
}
