import { existsSync } from 'node:fs';
import { readDestinationRecord, recallDestinations } from '../../state/destination-record.ts';
import { readMeta } from '../../state/migrations.ts';
import { assertIdentity } from '../../state/owner.ts';
import { workFile } from '../../state/work-file.ts';
import { ConfigError, PublishError } from '../model/errors.ts';
import type { OfflineSettings } from '../model/settings.ts';
import { readFileLineage } from '../publish/lineage.ts';
import type { Lineage, Publisher } from '../publish/publisher.ts';
import { listPublishers } from '../publish/registry.ts';
import { isPublishedFrom } from '../storage/assert-lineage.ts';
import { isStateFile } from '../storage/state-files.ts';
import { lookInto } from '../warehouse/look-into.ts';
import { findLink, type KeptPath, type FoundLeftover } from './find-leftovers.ts';
import { listOwnFiles, type OwnFiles } from './own-files.ts';

/** A place of an account, and what is deleted there. */
export interface RemovalPlace {
  readonly kind: string;
  readonly path: string;
  readonly own: OwnFiles;
}

/** What removing an account deletes, and what it keeps. */
export interface RemovalPlan {
  readonly account: string;
  /** What was published, then the state folder. */
  readonly places: readonly RemovalPlace[];
  readonly kept: readonly KeptPath[];
}

/**
 * Finds what removing an account deletes: what was published from its state folder, and what Sluice writes into state
 * folders. Takes the settings that the account would have.
 *
 * @throws ConfigError (2) for a place that is not ours; LockedError (75) while a run has its files open
 */
export async function planRemoval(settings: OfflineSettings, left: FoundLeftover): Promise<RemovalPlan> {
  for (const { path } of left.places) refuseLink(path);
  const work = await readWork(settings);
  const places: RemovalPlace[] = [];
  const kept: KeptPath[] = [...left.kept];
  for (const { kind, path } of left.places) {
    if (path === settings.stateDir) continue;
    const publisher = listPublishers(settings).find(({ place }) => place === path);
    // Throws for a file that Sluice did not write.
    await publisher?.claim().catch(rethrowRefusal);
    const findOwn = publisher?.local?.findOwn;
    if (publisher !== undefined && findOwn !== undefined && (await isOurs(publisher, settings, work)))
      places.push({ kind, path, own: listOwnFiles(path, findOwn()) });
    else kept.push({ path, why: `nothing shows that it was published from ${settings.stateDir}` });
  }
  const state = left.places.find(({ path }) => path === settings.stateDir);
  if (state !== undefined) places.push({ ...state, own: listOwnFiles(state.path, isStateFile) });
  const foreign = places.flatMap(({ own }) => own.foreign);
  return {
    account: left.account,
    places,
    kept: [...kept, ...foreign.map((path) => ({ path, why: 'Sluice did not put it there' }))],
  };
}

/** A sync could use another destination; that does not help here. */
function rethrowRefusal(error: unknown): never {
  if (!(error instanceof PublishError) || error.code !== 'publish_refused') throw error;
  const { code, context, message, cause } = error;
  const hint = 'Nothing was deleted. Move what is yours away, and run the same command again.';
  throw new PublishError(message, { code, hint, context, exitCode: 2, cause });
}

const NO_COMMITS: Lineage = { generation: undefined, runs: new Map() };

/** The commits of the account's work file, if it belongs to this config. */
async function readWork(settings: OfflineSettings): Promise<Lineage> {
  const { stateDir } = settings;
  const file = workFile(stateDir);
  if (!existsSync(file)) return NO_COMMITS;
  const meta = await lookInto(file, readMeta);
  if (meta !== undefined) assertIdentity(meta, settings);
  if (meta?.has('generation') !== true || recallDestinations(stateDir) !== undefined)
    return readFileLineage(file);
  throw new ConfigError(`the state in ${stateDir} does not say where its rows are published`, {
    code: 'identity_mismatch',
    hint: 'Nothing was deleted. Check whose state it is, then delete it by hand.',
    context: { path: stateDir },
  });
}

/** Whether a destination has what this state published, at least in part. */
async function isOurs(publisher: Publisher, settings: OfflineSettings, work: Lineage): Promise<boolean> {
  const found = await publisher.inspect();
  if (found !== undefined) return isPublishedFrom(work, found);
  // A first publish that never finished: nobody has seen it, and the state records that it started.
  const recorded = readDestinationRecord(settings.stateDir)?.places[publisher.name];
  return recorded !== undefined && recorded === publisher.local?.target;
}

/** What a link points to may belong to others. */
function refuseLink(path: string): void {
  if (findLink(path) === undefined) return;
  throw new ConfigError(`${path} is a link, and what it points to may not be the account's`, {
    code: 'config_invalid',
    hint: 'Nothing was deleted. Check where it points to, then delete the link and its target by hand.',
    context: { path },
  });
}
