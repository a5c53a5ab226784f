import { existsSync } from 'node:fs';
import { isRunUnderWay } from '../../state/lock.ts';
import { LockedError } from '../model/errors.ts';
import type { OfflineSettings } from '../model/settings.ts';
import { Database } from '../warehouse/database.ts';
import { DamagedFileError } from '../warehouse/database-errors.ts';
import { holdsState, openOwnPublished } from '../warehouse/query-published.ts';
import { isUnbegun } from './restore-work-file.ts';
import { workFile } from '../../state/work-file.ts';

type Places = Pick<OfflineSettings, 'readersFile' | 'stateDir'>;
type Read<T> = (database: Database) => Promise<T>;

/**
 * Reads what readers have or, if nothing is published, what the next sync publishes: the work file, unless a run has it
 * open. Takes no lock. Undefined if there is neither.
 */
export async function withHeld<T>(places: Places, read: Read<T>): Promise<T | undefined> {
  return readFrom((await openPublished(places)) ?? (await openWork(places)), read);
}

/** Reads what the next sync compares a config with: the work file or, if it cannot be read now, what is published. */
export async function withState<T>(places: Places, read: Read<T>): Promise<T | undefined> {
  const work = await openWork(places).catch((error: unknown) => {
    // The next sync restores it from what is published.
    if (error instanceof DamagedFileError && existsSync(places.readersFile)) return undefined;
    throw error;
  });
  return readFrom(work ?? (await openPublished(places)), read);
}

async function readFrom<T>(database: Database | undefined, read: Read<T>): Promise<T | undefined> {
  if (database === undefined) return undefined;
  try {
    return await read(database);
  } finally {
    await database.release();
  }
}

async function openPublished({ readersFile }: Places): Promise<Database | undefined> {
  return existsSync(readersFile) ? openOwnPublished(readersFile) : undefined;
}

async function openWork({ stateDir }: Places): Promise<Database | undefined> {
  const file = workFile(stateDir);
  if (!existsSync(file) || isUnbegun(file) || isRunUnderWay(stateDir)) return undefined;
  try {
    const database = await Database.open({ file, readOnly: true, folders: [] });
    if (await holdsState(database)) return database;
    // No run has prepared it yet.
    await database.release();
    return undefined;
  } catch (error) {
    // A run has just begun.
    if (error instanceof LockedError) return undefined;
    throw error;
  }
}
