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

/** The same, but an outdated work file is replaced by what is published. */
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
 * Rejects a destination with a commit that the work file does not know: publishing would revert or remove its tables.
 * A work file has a run for each of its commits.
 *
 * @throws PublishError where both went on from where they parted; OutdatedFileError where the destination only went
 * on   from what the work file holds, which is then the older one and can be brought up to date
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
    // A file that is still ours is recognised without opening it: a user may have it open for writing.
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
  /** Start of each run by id: equal ids given by users may be different runs. */
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

/** `newer`: what is published has all commits of the work file and more. */
function compareLineages(work: Lineage, { generation, runs }: Lineage): 'known' | 'newer' | 'other' {
  if (generation === undefined || generation === work.generation) return 'known';
  const areBoth = (runId: string) => {
    const at = work.runs.get(runId);
    // A lake without its state file has no times.
    return at !== undefined && (runs.size === 0 || at === runs.get(runId));
  };
  if (areBoth(toRunId(generation))) return 'known';
  if (runs.size === 0) return 'other';
  return work.generation === undefined || areBoth(toRunId(work.generation)) ? 'newer' : 'other';
}

/** Checks a destination again right before it is replaced. */
export type SecondLook = (path: string, generation: string | undefined) => void;

/**
 * Reads the commits of a work file, to check the destination again after that file is closed: the run may have been
 * suspended since its first check, and locks do not work on every disk.
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

/** The commit that a published file currently holds; undefined if there is none. */
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
  const why = `was published from another state folder (run ${runId}): publishing from ${stateDir} would lose its data`;
  return new PublishError(`${path} ${why}`, {
    code: 'publish_refused',
    hint: `One destination needs one stateDir. ${describeWayOut(settings, path)} Nothing was requested.`,
    context: { path },
    exitCode: 2,
  });
}

// Format: the run's id, a space and twelve digits.
function toRunId(generation: string): string {
  return generation.slice(0, -13);
}

// A lake without its state file cannot restore the state: with the folder moved away, nothing would be left to
// continue from.
function describeWayOut(settings: Settings, path: string): string {
  const { stateDir } = settings;
  const back = listStateSources(settings).some((source) => source.path === path)
    ? `To continue from what is published, move ${stateDir} away: the state is restored from it.`
    : `To continue from what is published, restore ${LAKE_CATALOG} of ${path} from a backup and move ${stateDir} away: the state is restored from both.`;
  return `${back} To continue from this folder, move ${basename(path)} away.`;
}
