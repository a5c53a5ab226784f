import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { readMeta } from '../../state/migrations.ts';
import { isPublishedFile, readPublishedRecord } from '../../state/published-record.ts';
import { PublishError } from '../model/errors.ts';
import { LAKE_CATALOG } from '../model/lake.ts';
import type { Settings } from '../model/settings.ts';
import { readManifest } from '../publish/lake/manifest.ts';
import type { Database } from '../warehouse/database.ts';
import { OutdatedFileError } from '../warehouse/database-errors.ts';
import { type OpenEffects, readPublishedMeta, replaceDamaged } from './open-warehouse.ts';
import { listStateSources } from './restore-work-file.ts';
import { workFile } from './state-folder.ts';

/** The same, and an older copy in the place of the work file is replaced by what is published. */
export async function settleLineage(
  settings: Settings,
  database: Database,
  effects: OpenEffects,
): Promise<void> {
  try {
    await assertOwnLineage(settings, database);
  } catch (error) {
    if (!(error instanceof OutdatedFileError)) throw error;
    if (!(await replaceDamaged(database, settings, error, effects))) throw error;
    await assertOwnLineage(settings, database);
  }
}

/**
 * Refuses a destination that holds a commit which the work file does not know: publishing would take its tables back
 * to what the work file knows, or away. What a work file committed, it has a run of.
 *
 * @throws PublishError where another state folder published; OutdatedFileError where it was this one, before an older
 *   copy took the place of its work file
 */
export async function assertOwnLineage(settings: Settings, database: Database): Promise<void> {
  const { stateDir, publishesDuckdb, duckdbPath, lakePath } = settings;
  const own = (await readMeta(database)).get('generation');
  const assertKnown = async (path: string, generation: string | undefined) => {
    if (generation !== undefined && !(await knows(database, own, generation)))
      throw refuse(settings, path, generation);
  };
  if (publishesDuckdb && existsSync(duckdbPath)) {
    const record = readPublishedRecord(stateDir);
    // One that is still ours is known without opening it: a user may hold it for writing.
    const isOurs = record !== undefined && isPublishedFile(record, duckdbPath);
    if (!isOurs || !(await knows(database, own, record.generation)))
      await assertKnown(duckdbPath, (await readPublishedMeta(duckdbPath))?.get('generation'));
  }
  if (lakePath !== undefined) await assertKnown(lakePath, readManifest(lakePath)?.commit);
}

function refuse(settings: Settings, path: string, generation: string): PublishError | OutdatedFileError {
  const { stateDir } = settings;
  const runId = toRunId(generation);
  if (readPublishedRecord(stateDir)?.generation === generation)
    return new OutdatedFileError(
      `${workFile(stateDir)} is older than what was published from it (run ${runId})`,
      {
        code: 'state_damaged',
        hint: 'Run `sluice sync`: it keeps that file under another name and restores its state from what is published.',
        context: { path: workFile(stateDir) },
      },
    );
  const why = `was published from another state folder (run ${runId}): from ${stateDir} it would lose what that one knows`;
  return new PublishError(`${path} ${why}`, {
    code: 'publish_refused',
    hint: `One destination needs one stateDir. ${describeWayOut(settings, path)} Nothing was requested.`,
    context: { path },
    exitCode: 2,
  });
}

async function knows(database: Database, own: string | undefined, generation: string): Promise<boolean> {
  if (own === generation) return true;
  const runs = await database.count('SELECT count(*) FROM _sluice.runs WHERE run_id = $1', [
    toRunId(generation),
  ]);
  return runs > 0;
}

// Written as the run's id, a blank and twelve digits.
function toRunId(generation: string): string {
  return generation.slice(0, -13);
}

// A lake without its file of state gives none back: with the folder moved away nothing could go on.
function describeWayOut(settings: Settings, path: string): string {
  const { stateDir } = settings;
  const back = listStateSources(settings).some((source) => source.path === path)
    ? `To go on from what is published, move ${stateDir} away: the state is restored from it.`
    : `To go on from what is published, put ${LAKE_CATALOG} of ${path} back from a backup and move ${stateDir} away: the state is restored from both.`;
  return `${back} To go on from this folder, move ${basename(path)} away.`;
}
