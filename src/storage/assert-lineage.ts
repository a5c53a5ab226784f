import { basename } from 'node:path';
import { readMeta } from '../../state/migrations.ts';
import { readPublishedRecord } from '../../state/published-record.ts';
import { workFile } from '../../state/work-file.ts';
import { PublishError } from '../model/errors.ts';
import type { OfflineSettings, Settings } from '../model/settings.ts';
import { readLineage, toRunId } from '../publish/lineage.ts';
import type { Lineage, PublishedState, Publisher } from '../publish/publisher.ts';
import { listPublishers } from '../publish/registry.ts';
import type { Database } from '../warehouse/database.ts';
import { OutdatedFileError } from '../warehouse/database-errors.ts';
import { type OpenEffects, replaceDamaged } from './open-warehouse.ts';

/** The same, but an outdated work file is replaced by what is published. */
export async function settleLineage(
  settings: Settings,
  database: Database,
  effects: OpenEffects,
): Promise<void> {
  // Each time the state becomes that of a later commit: a run may have ended between its destinations.
  for (let left = settings.destinations.length; ; left -= 1) {
    try {
      await assertOwnLineage(settings, database);
      return;
    } catch (error) {
      if (!(error instanceof OutdatedFileError) || left === 0) throw error;
      if (!(await replaceDamaged(database, settings, error, effects))) throw error;
    }
  }
}

/**
 * Rejects a destination with a commit that the work file does not know: publishing would revert or remove its tables.
 * A work file has a run for each of its commits.
 *
 * @throws PublishError if both changed after they parted; OutdatedFileError if only the destination
 * changed since: the work file is outdated and can be replaced
 */
export async function assertOwnLineage(settings: OfflineSettings, database: Database): Promise<void> {
  const work = await readLineage(database);
  for (const publisher of listPublishers(settings)) {
    const found = await publisher.inspect();
    if (found === undefined || isKnown(work, found)) continue;
    const published = await found.readLineage();
    const relation = compareLineages(work, published);
    if (relation !== 'known')
      throw await describeRefusal(settings, publisher, published.generation ?? '', relation);
  }
}

// What is still ours is recognised without reading it: a user may have the file open for writing.
function isKnown(work: Lineage, { generation, isLeft }: PublishedState): boolean {
  if (generation === undefined || generation === work.generation) return true;
  return isLeft === true && work.runs.has(toRunId(generation));
}

/**
 * Whether what is published came from a work file with these commits, or from a later state of it; false if nothing
 * shows it.
 */
export async function isPublishedFrom(work: Lineage, found: PublishedState): Promise<boolean> {
  if (found.isLeft === true) return true;
  if (work.generation === undefined || found.generation === undefined) return false;
  return compareLineages(work, await found.readLineage()) !== 'other';
}

/** `newer`: what is published has all commits of the work file and more. */
export function compareLineages(work: Lineage, published: Lineage): 'known' | 'newer' | 'other' {
  const { generation, runs } = published;
  if (generation === undefined || generation === work.generation) return 'known';
  const areBoth = (runId: string) => {
    const [at, there] = [work.runs.get(runId), runs.get(runId)];
    // A destination without its state has no times.
    if (at === undefined || runs.size === 0 || at === there) return at !== undefined;
    return there !== undefined && (isCorrected(work, at, there) || isCorrected(published, there, at));
  };
  if (areBoth(toRunId(generation))) return 'known';
  if (runs.size === 0) return 'other';
  return work.generation === undefined || areBoth(toRunId(work.generation)) ? 'newer' : 'other';
}

/** Whether a start that was recorded by a clock ahead was corrected in one place, and not yet in the other. */
function isCorrected({ corrected }: Lineage, at: number, elsewhere: number): boolean {
  return elsewhere > at && corrected?.has(at) === true;
}

/** Checks a destination again right before it is replaced. */
export type SecondLook = (place: string, generation: string | undefined) => Promise<void>;

/**
 * Reads the commits of a work file, to check the destination again after that file is closed: the run may have been
 * suspended since its first check, and locks do not work on every disk.
 */
export async function prepareSecondLook(settings: OfflineSettings, database: Database): Promise<SecondLook> {
  const own = (await readMeta(database)).get('generation');
  const runs = await database.all('SELECT run_id FROM _sluice.runs');
  const known = new Set(runs.map((row) => String(row['run_id'])));
  return async (place, generation) => {
    if (generation === undefined || generation === own || known.has(toRunId(generation))) return;
    const publisher = listPublishers(settings).find((one) => one.place === place);
    throw await describeRefusal(settings, publisher ?? { place }, generation, 'other');
  };
}

async function describeRefusal(
  settings: OfflineSettings,
  destination: Destination,
  generation: string,
  relation: 'newer' | 'other',
): Promise<PublishError | OutdatedFileError> {
  const { stateDir } = settings;
  const { place } = destination;
  const runId = toRunId(generation);
  if (relation === 'newer' || readPublishedRecord(stateDir)?.generation === generation)
    return new OutdatedFileError(
      `${workFile(stateDir)} is older than what is published in ${place} (run ${runId})`,
      {
        code: 'state_damaged',
        hint: 'Run `sluice sync`: it keeps that file under another name and restores its state from what is published.',
        context: { path: workFile(stateDir) },
        place,
      },
    );
  const why = `was published from another state folder (run ${runId}): publishing from ${stateDir} would lose its data`;
  return new PublishError(`${place} ${why}`, {
    code: 'publish_refused',
    hint: `One destination needs one stateDir. Where files were moved or swapped, put each back in its place. ${await describeWayOut(stateDir, destination)} Nothing was requested.`,
    context: { path: place },
    exitCode: 2,
  });
}

/** What a refusal says about a destination. */
type Destination = Pick<Publisher, 'place'> & Partial<Pick<Publisher, 'name' | 'state'>>;

// A destination without its state cannot restore it: with the folder moved away, nothing is left to continue from.
async function describeWayOut(stateDir: string, { name, place, state }: Destination): Promise<string> {
  const isMovable = name === undefined || name === 'duckdb' || name === 'parquet';
  const kind = name === 'iceberg' ? 'namespace' : 'schema';
  const aside = isMovable ? `move ${basename(place)} away` : `name another ${kind} in the config`;
  const onward = `To continue from this folder, ${aside}.`;
  if (state === undefined) return onward;
  const back = (await state.isHeld())
    ? `To continue from what is published, move ${stateDir} away: the state is restored from it.`
    : `To continue from what is published, restore ${state.part} of ${place} from a backup and move ${stateDir} away: the state is restored from both.`;
  return `${onward} ${back}`;
}
