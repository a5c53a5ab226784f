import { readCheckpoints, readContract } from '../../../state/checkpoints.ts';
import { findNewMasks } from '../../load/plan-columns.ts';
import { findRemaskedKey, type MaskedTable } from '../../load/rehashed-key.ts';
import type { StreamConfigError } from '../../model/errors.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import { type LearnedColumn, nameOf, nameScan, type Stream } from '../../model/stream.ts';
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
    for (const [name, scans] of Map.groupBy(streams, (stream) => stream.name)) {
      const learned = await readContract(database, name);
      // Most streams have the rules that their table has: then there is nothing to look for slice by slice.
      if (!(await isRemasked({ database, settings }, scans, learned))) continue;
      for (const stream of scans) {
        const checkpoint = checkpoints.find((held) => nameScan(held.stream, held.slice) === nameOf(stream));
        const refusal = await findRemaskedKey({ database, settings }, { stream, checkpoint, learned });
        if (refusal !== undefined) refused.set(nameOf(stream), refusal);
      }
    }
    return refused;
  }).catch(() => undefined);
  return found ?? new Map();
}

/** Whether a column of a stream's table is masked in another way than the config now says. */
async function isRemasked(
  { database, settings }: MaskedTable,
  [stream]: readonly Stream[],
  learned: readonly LearnedColumn[],
): Promise<boolean> {
  if (stream === undefined) return false;
  return (await findNewMasks(database, stream, learned, settings.hashKey)).remasked.length > 0;
}
