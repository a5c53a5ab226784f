import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalText } from '../json/fingerprint.ts';
import type { Settings } from '../model/settings.ts';
import type { Stream } from '../model/stream.ts';
import { discardStage } from '../stage/stage-store.ts';
import { describeMasks, isMasked } from '../schema/mask-records.ts';

/**
 * Removes staged pages with fields that the config now excludes or hashes, before anything else: a scan that fails
 * early, or never starts, must not leave them on disk.
 */
export async function dropRawStages(settings: Settings): Promise<void> {
  const masksOf = (stream: Stream) => describeMasks(stream, settings.hashKey);
  const masked = settings.streams.filter(isMasked);
  if (masked.length === 0) return;
  const stages = join(settings.stateDir, 'stage');
  for (const name of await readdir(stages).catch(() => [])) {
    const stream = masked.find((one) => name === one.name || name.startsWith(`${one.name}.`));
    if (stream === undefined) continue;
    const staged = await readMasks(join(stages, name));
    if (canonicalText(staged) !== canonicalText(masksOf(stream))) await discardStage(join(stages, name));
  }
}

async function readMasks(folder: string): Promise<unknown> {
  try {
    return (JSON.parse(await readFile(join(folder, 'scan.json'), 'utf8')) as { masks?: unknown }).masks ?? {};
  } catch {
    return {};
  }
}
