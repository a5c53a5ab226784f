import { replaceScan } from '../../archive/archive-folder.ts';
import type { ArchivedScan } from '../../archive/archived-scan.ts';
import { packChunks } from '../../archive/pack-records.ts';
import { pruneArchive } from '../../archive/prune-archive.ts';
import { unpackRecords } from '../../archive/unpack-records.ts';
import { canonicalText } from '../../json/fingerprint.ts';
import { assertNotAborted } from '../../model/abort.ts';
import { nameOf, type Stream } from '../../model/stream.ts';
import { formatStagedLines, parsePageRecord } from '../../stage/staged-records.ts';
import type { SliceArchive } from './find-archive.ts';
import { compileMask, describeMasks } from '../../schema/mask-records.ts';
import { findRetentionTime } from '../../storage/record-times.ts';
import type { RunContext } from '../../run/run-context.ts';

/**
 * Masks archived pages by the current rules as well, once a table was rebuilt from them. A failure is a warning: the
 * pages are removed once everything was read again.
 */
export async function maskArchives(context: RunContext, archives: readonly SliceArchive[]): Promise<void> {
  const { settings, signal, emit } = context;
  for (const { stream, folder, scans } of archives) {
    const wanted = describeMasks(stream, settings.hashKey);
    const raw = scans.filter(({ masks }) => canonicalText(masks) !== canonicalText(wanted));
    try {
      for (const scan of raw) await maskScan(context, stream, folder, scan);
      if (raw.length === 0) continue;
      const beforeMs = findRetentionTime(context) - settings.retention.archiveMs;
      const lastRunId = scans.at(-1)?.runId;
      await pruneArchive(folder, { beforeMs, lastRunId, masks: wanted, thorough: true });
    } catch (error) {
      assertNotAborted(signal);
      emit({
        type: 'warning',
        stream: nameOf(stream),
        message: `${nameOf(stream)}: what the config excludes or hashes is still in archived pages: ${(error as Error).message}. They are removed by the next full scan`,
      });
    }
  }
}

async function maskScan(
  { settings, signal }: RunContext,
  stream: Stream,
  folder: string,
  scan: ArchivedScan,
): Promise<void> {
  const mask = compileMask(stream, settings.hashKey, scan.masks);
  async function* maskLines(): AsyncGenerator<Buffer> {
    for await (const lines of unpackRecords(folder, scan.content, signal)) {
      let text = '';
      for (const line of lines) {
        if (mask === undefined || line.startsWith('#')) {
          text += `${line}\n`;
          continue;
        }
        const { position, record } = parsePageRecord(line);
        text += formatStagedLines(position, [mask.mask(record)]);
      }
      yield Buffer.from(text);
    }
  }
  const content = await packChunks(folder, maskLines(), signal);
  await replaceScan(folder, { ...scan, content, masks: describeMasks(stream, settings.hashKey) });
}
