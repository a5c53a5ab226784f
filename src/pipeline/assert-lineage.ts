import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { readMeta } from '../../state/migrations.ts';
import { isPublishedFile, readPublishedRecord } from '../../state/published-record.ts';
import { PublishError } from '../model/errors.ts';
import { LAKE_CATALOG } from '../model/lake.ts';
import type { Settings } from '../model/settings.ts';
import { readManifest } from '../publish/lake/manifest.ts';
import type { Database } from '../warehouse/database.ts';
import { OutdatedFileError } from '../warehouse/database-errors.ts';
import { lookInto, type OpenEffects, readPublishedMeta, replaceDamaged } from './open-warehouse.ts';
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
 * @throws PublishError where both went on from where they parted; OutdatedFileError where the destination only went on
 *   from what the work file holds, which is then the older one and can be brought up to date
 */
export async function assertOwnLineage(settings: Settings, database: Database): Promise<void> {
  const { stateDir, publishesDuckdb, duckdbPath, lakePath } = settings;
  const work = await readLineage(database);
  const assertKnown = (path: string, published: Lineage) => {
    const relation = compareLineages(work, published);
    if (relation !== 'known') throw toRefusal(settings, path, published.generation ?? '', relation);
  };
  if (publishesDuckdb && existsSync(duckdbPath)) {
    const record = readPublishedRecord(stateDir);
    // One that is still ours is known without opening it: a user may hold it for writing.
    const isOurs = record !== undefined && isPublishedFile(record, duckdbPath);
    if (!isOurs || !knows(work, record.generation))
      assertKnown(duckdbPath, await readPublishedLineage(duckdbPath));
  }
  const commit = lakePath === undefined ? undefined : readManifest(lakePath)?.commit;
  if (lakePath === undefined || commit === undefined || commit === work.generation) return;
  const { runs } = await readPublishedLineage(join(lakePath, LAKE_CATALOG));
  assertKnown(lakePath, { generation: commit, runs });
}

/** The commits that a file holds. */
interface Lineage {
  readonly generation: string | undefined;
  /** When each run began, by its id: a name that somebody gave twice is no run of both. */
  readonly runs: ReadonlyMap<string, number>;
}

async function readLineage(database: Database): Promise<Lineage> {
  const rows = await database.all('SELECT run_id, epoch_ms(started_at) AS ms FROM _sluice.runs');
  return {
    generation: (await readMeta(database)).get('generation'),
    runs: new Map(rows.map((row) => [String(row['run_id']), Number(row['ms'])])),
  };
}

async function readPublishedLineage(file: string): Promise<Lineage> {
  return (
    (existsSync(file) ? await lookInto(file, readLineage) : undefined) ?? {
      generation: undefined,
      runs: new Map(),
    }
  );
}

function knows(work: Lineage, generation: string): boolean {
  return work.generation === generation || work.runs.has(toRunId(generation));
}

/** `newer`: all that the work file committed is in what is published, and more. */
function compareLineages(work: Lineage, { generation, runs }: Lineage): 'known' | 'newer' | 'other' {
  if (generation === undefined || generation === work.generation) return 'known';
  const areBoth = (runId: string) => {
    const at = work.runs.get(runId);
    // A lake that has lost its file of state tells no times.
    return at !== undefined && (runs.size === 0 || at === runs.get(runId));
  };
  if (areBoth(toRunId(generation))) return 'known';
  if (runs.size === 0) return 'other';
  return work.generation === undefined || areBoth(toRunId(work.generation)) ? 'newer' : 'other';
}

/** Looks at a destination once more, right before it is replaced. */
export type SecondLook = (path: string, generation: string | undefined) => void;

/**
 * Reads which commits a work file knows, for a look at what is published when that file is closed: a run may have been
 * stopped for long between its first look and its publish, and a lock does not hold on every disk.
 */
export async function prepareSecondLook(settings: Settings, database: Database): Promise<SecondLook> {
  const own = (await readMeta(database)).get('generation');
  const runs = await database.all('SELECT run_id FROM _sluice.runs');
  const known = new Set(runs.map((row) => String(row['run_id'])));
  return (path, generation) => {
    if (generation === undefined || generation === own || known.has(toRunId(generation))) return;
    throw toRefusal(settings, path, generation, 'other');
  };
}

/** The commit that a published file holds now; undefined where there is none. */
export async function readGeneration(path: string): Promise<string | undefined> {
  return existsSync(path) ? (await readPublishedMeta(path))?.get('generation') : undefined;
}

function toRefusal(
  settings: Settings,
  path: string,
  generation: string,
  relation: 'newer' | 'other',
): PublishError | OutdatedFileError {
  const { stateDir } = settings;
  const runId = toRunId(generation);
  if (relation === 'newer' || readPublishedRecord(stateDir)?.generation === generation)
    return new OutdatedFileError(
      `${workFile(stateDir)} is older than what is published in ${path} (run ${runId})`,
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
