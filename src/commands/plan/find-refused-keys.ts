import { readCheckpoints, readContract } from '../../../state/checkpoints.ts';
import { findRemaskedKey } from '../../load/rehashed-key.ts';
import type { StreamConfigError } from '../../model/errors.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import { nameOf, nameScan, type Stream } from '../../model/stream.ts';
import { withState } from '../../storage/with-held.ts';

/** Errors by the name of a stream or slice. */
export type RefusedKeys = ReadonlyMap<string, StreamConfigError>;

/**
 * Streams and slices that the next sync refuses before their first request, as their key is masked in another way than
 * in the table: the error by the name of each. Empty if the state cannot be read: a sync says so itself.
 */
export async function findRefusedKeys(
  settings: OfflineSettings,
  streams: readonly Stream[],
): Promise<RefusedKeys> {
  const found = await withState(settings, async (database) => {
    const checkpoints = await readCheckpoints(database);
    const refused = new Map<string, StreamConfigError>();
    for (const stream of streams) {
      const checkpoint = checkpoints.find((held) => nameScan(held.stream, held.slice) === nameOf(stream));
      const learned = await readContract(database, stream.name);
      const refusal = await findRemaskedKey({ database, settings }, { stream, checkpoint, learned });
      if (refusal !== undefined) refused.set(nameOf(stream), refusal);
    }
    return refused;
  }).catch(() => undefined);
  return found ?? new Map();
}
