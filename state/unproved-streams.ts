import { z } from 'zod';
import { StorageError } from '../src/model/errors.ts';
import type { SqlSession } from '../src/model/sql.ts';
import { isScanOf } from '../src/model/stream.ts';
import { readMeta, writeMeta } from './migrations.ts';

/** The entry of `_sluice.meta`. */
export const UNPROVED = 'unproved_streams';
const entrySchema = z.record(z.string(), z.string());

/**
 * Scans (`nameScan`) for which the state's key is not checked yet, with the name of the key that read their rows; empty
 * for a key that was not recorded. Slices are checked one by one: a key may read one client's rows and not another's.
 */
export type UnprovedStreams = ReadonlyMap<string, string>;

/** The scans of a stream in the list. */
export function listUnproved(unproved: UnprovedStreams, stream: string): readonly string[] {
  return [...unproved.keys()].filter((name) => isScanOf(name, stream));
}

/** @throws StorageError `state_damaged` for an entry that Sluice did not write */
export function parseUnproved(meta: ReadonlyMap<string, string>): UnprovedStreams {
  try {
    return new Map(Object.entries(entrySchema.parse(JSON.parse(meta.get(UNPROVED) ?? '{}'))));
  } catch (cause) {
    throw new StorageError(`_sluice.meta was changed by something other than Sluice: ${UNPROVED}`, {
      code: 'state_damaged',
      hint: 'Move the work file away (do not delete it) and run again: Sluice restores its state from the published file. Nothing was requested.',
      cause,
    });
  }
}

export async function readUnproved(session: SqlSession): Promise<UnprovedStreams> {
  return parseUnproved(await readMeta(session));
}

/** Replaces the entry if it changes; call in the transaction of what changes it. */
export async function writeUnproved(session: SqlSession, unproved: UnprovedStreams): Promise<void> {
  const text = JSON.stringify(Object.fromEntries(unproved));
  const held = (await readMeta(session)).get(UNPROVED) ?? '{}';
  if (text !== held) await writeMeta(session, UNPROVED, text);
}

/** Adds scans with the key that read their rows. */
export async function addUnproved(session: SqlSession, scans: UnprovedStreams): Promise<void> {
  const listed = await readUnproved(session);
  await writeUnproved(session, new Map([...scans, ...listed]));
}

/** Takes scans out of the entry: the key reads their rows. */
export async function forgetUnproved(session: SqlSession, scans: readonly string[]): Promise<void> {
  const unproved = [...(await readUnproved(session))].filter(([name]) => !scans.includes(name));
  await writeUnproved(session, new Map(unproved));
}

/** The same for a stream whose rows are gone. */
export async function forgetUnprovedStream(session: SqlSession, stream: string): Promise<void> {
  await forgetUnproved(session, listUnproved(await readUnproved(session), stream));
}
