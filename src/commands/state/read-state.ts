import { existsSync } from 'node:fs';
import { readCheckpoints } from '../../../state/checkpoints.ts';
import { lockStateFolder } from '../../../state/lock.ts';
import { readMeta } from '../../../state/migrations.ts';
import { type Clock, systemClock } from '../../model/clock.ts';
import { LockedError } from '../../model/errors.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import type { ExportedCheckpoint, ExportedState, StateReport } from '../../model/state-report.ts';
import { Database } from '../../warehouse/database.ts';
import { openOwnPublished } from '../../warehouse/query-published.ts';
import { assertIdentity } from '../../../state/owner.ts';
import { withoutKey } from '../../run/refuse-requests.ts';
import { sealCheckpoint } from './seal-checkpoint.ts';
import { chooseKnown } from './select-known.ts';
import { workFile } from '../../../state/work-file.ts';

export interface ReadStateOptions {
  readonly streams?: readonly string[];
  readonly clock?: Clock | undefined;
}

/**
 * What each scan reached, from the work file or, while a run has it open, from the published one, so that nobody
 * has to wait. Changes nothing.
 */
export async function readState(
  settings: OfflineSettings,
  { streams, clock = systemClock }: ReadStateOptions = {},
): Promise<StateReport> {
  const now = new Date(clock.now()).toISOString();
  const request = { settings, streams };
  const work = await readWork(request, now);
  const isInUse = work === 'in use';
  const read = work === undefined || work === 'in use' ? await readPublished(request) : work;
  if (read === undefined) chooseKnown(settings, [], streams);
  return {
    state: exportState(settings, read?.checkpoints ?? [], now),
    source: read?.source ?? 'nothing',
    isInUse,
    path: read?.path ?? workFile(settings.stateDir),
  };
}

/** The checkpoints in exported form. */
function exportState(
  settings: OfflineSettings,
  checkpoints: readonly ExportedCheckpoint[],
  exportedAt: string,
): ExportedState {
  return {
    format: 'sluice-state',
    version: 1,
    exportedAt,
    connector: settings.connector.name,
    baseUrl: settings.baseUrl.href.replace(/\/$/, ''),
    checkpoints,
  };
}

interface ReadCheckpoints {
  readonly source: StateReport['source'];
  readonly path: string;
  readonly checkpoints: readonly ExportedCheckpoint[];
}

interface ReadRequest {
  readonly settings: OfflineSettings;
  readonly streams: readonly string[] | undefined;
}

async function readWork(
  request: ReadRequest,
  since: string,
): Promise<ReadCheckpoints | 'in use' | undefined> {
  const { settings } = request;
  const file = workFile(settings.stateDir);
  if (!existsSync(file)) return undefined;
  try {
    const lock = await lockStateFolder(settings.stateDir, since, 'state');
    try {
      const database = await Database.open({ file, readOnly: true, folders: [] });
      return await readFrom(request, database, 'work file', file);
    } finally {
      await lock.release();
    }
  } catch (error) {
    if (error instanceof LockedError) return 'in use';
    throw error;
  }
}

async function readPublished(request: ReadRequest): Promise<ReadCheckpoints | undefined> {
  const path = request.settings.readersFile;
  if (!existsSync(path)) return undefined;
  return readFrom(request, await openOwnPublished(path), 'published file', path);
}

async function readFrom(
  { settings, streams }: ReadRequest,
  database: Database,
  source: StateReport['source'],
  path: string,
): Promise<ReadCheckpoints> {
  try {
    assertIdentity(await readMeta(database), withoutKey(settings), path);
    const held = await readCheckpoints(database);
    const names = chooseKnown(settings, held, streams);
    const checkpoints: ExportedCheckpoint[] = [];
    // A seal reads the whole table.
    for (const checkpoint of held.filter(({ stream }) => names.includes(stream)))
      checkpoints.push({ ...checkpoint, seal: await sealCheckpoint(database, checkpoint) });
    return { source, path, checkpoints };
  } finally {
    await database.release();
  }
}
