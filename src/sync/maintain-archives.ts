import { join } from 'node:path';
import { readCheckpoints } from '../../state/checkpoints.ts';
import { listNames } from '../archive/archive-folder.ts';
import { emptyArchive, pruneArchive } from '../archive/prune-archive.ts';
import { sliceIdOf, sliceStream } from '../model/stream.ts';
import { describeMasks } from '../schema/mask-records.ts';
import { findRetentionTime } from '../storage/record-times.ts';
import type { RunContext } from '../run/run-context.ts';
import { archiveFolder, archiveRoot } from '../storage/state-folder.ts';

/**
 * Applies the retention to every archive, also of streams that this run did not read. Scans of removed slices cannot
 * be reloaded: even the newest of them expire. Failures here are warnings.
 */
export async function maintainArchives(context: RunContext): Promise<void> {
  const { settings, database, emit } = context;
  const { archiveMs } = settings.retention;
  const root = archiveRoot(settings.stateDir);
  try {
    if (archiveMs === 0) return await emptyArchive(root);
    const beforeMs = findRetentionTime(context) - archiveMs;
    const checkpoints = await readCheckpoints(database);
    const streams = settings.streams.flatMap(sliceStream);
    for (const name of await listNames(root)) {
      for (const slice of await listNames(join(root, name))) {
        const folder = join(root, name, slice);
        const stream = streams.find((one) => archiveFolder(settings.stateDir, one) === folder);
        const isKnown = stream !== undefined || settings.disabledStreams.includes(name);
        const held = checkpoints.find(
          (one) => one.stream === stream?.name && one.slice === sliceIdOf(stream),
        );
        // A disabled stream's archive is kept for the day it is enabled again.
        if (stream === undefined && isKnown) continue;
        const lastRunId = isKnown ? held?.runId : NOBODY;
        const masks = stream === undefined ? {} : describeMasks(stream, settings.hashKey);
        await pruneArchive(folder, { beforeMs, lastRunId, masks, thorough: false });
      }
    }
  } catch (error) {
    const message = `archived pages could not be pruned: ${(error as Error).message}`;
    emit({ type: 'warning', message });
  }
}

// Without a last run, no scan of a removed slice is kept.
const NOBODY = '';
