import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { readMeta } from '../../state/migrations.ts';
import { isPublishedFile, readPublishedRecord } from '../../state/published-record.ts';
import { PublishError } from '../model/errors.ts';
import type { Settings } from '../model/settings.ts';
import { readManifest } from '../publish/lake/manifest.ts';
import type { Database } from '../warehouse/database.ts';
import { readPublishedMeta } from './open-warehouse.ts';

/**
 * Refuses a destination that another state folder has published to since this one did: publishing would take its
 * tables back to what this folder knows, or away. What this folder published, it has a run of.
 */
export async function assertOwnLineage(settings: Settings, database: Database): Promise<void> {
  const known = new Set(
    [(await readMeta(database)).get('generation'), readPublishedRecord(settings.stateDir)?.generation].filter(
      (generation) => generation !== undefined,
    ),
  );
  for (const { path, generation } of await listPublished(settings)) {
    if (generation === undefined || known.has(generation)) continue;
    // Written as the run's id, a blank and twelve digits.
    const runId = generation.slice(0, -13);
    if ((await database.count('SELECT count(*) FROM _sluice.runs WHERE run_id = $1', [runId])) > 0) continue;
    throw new PublishError(
      `${path} was published from another state folder (run ${runId}): from ${settings.stateDir} it would lose what that one knows`,
      {
        code: 'publish_refused',
        hint: `One destination needs one stateDir. To go on from what is published, move ${settings.stateDir} away: the state is restored from it. To go on from this folder, move ${basename(path)} away. Nothing was requested.`,
        context: { path },
        exitCode: 2,
      },
    );
  }
}

async function listPublished(
  settings: Settings,
): Promise<readonly { readonly path: string; readonly generation: string | undefined }[]> {
  const { lakePath, publishesDuckdb, duckdbPath, stateDir } = settings;
  const found: { path: string; generation: string | undefined }[] = [];
  if (publishesDuckdb && existsSync(duckdbPath)) {
    const record = readPublishedRecord(stateDir);
    // One that is still ours is known without opening it.
    if (record === undefined || !isPublishedFile(record, duckdbPath))
      found.push({ path: duckdbPath, generation: (await readPublishedMeta(duckdbPath))?.get('generation') });
  }
  if (lakePath !== undefined) {
    const manifest = readManifest(lakePath);
    found.push({ path: lakePath, generation: manifest?.commit });
  }
  return found;
}
