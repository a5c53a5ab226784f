import { forgetUnproved, type UnprovedStreams } from '../../state/unproved-streams.ts';
import { selectStreams } from '../config/select-streams.ts';
import type { ProgressEvent } from '../model/progress.ts';
import type { Stream } from '../model/stream.ts';
import { listHeldTables } from '../warehouse/held-tables.ts';
import { findOtherKey, type Identity, judgeIdentity, rememberIdentity } from './identity.ts';
import { proveAll, proveAlone, proveStream } from './prove-same-data.ts';
import type { RunContext } from './run-context.ts';
import { nameKey } from './state-folder.ts';

interface Settled {
  readonly unproved: UnprovedStreams;
  readonly notes: readonly string[];
}

/**
 * Checks key and destination of a run against its state and records them, before anything is written: a new key must
 * read the same data, a new destination is reported.
 *
 * @returns a message for the user
 */
export async function settleIdentity(context: RunContext): Promise<readonly ProgressEvent[]> {
  const { settings, database, options } = context;
  const identity = await judgeIdentity(settings, database, options);
  const { movedFrom } = identity;
  const { unproved, notes } = await settleKey(context, identity);
  await rememberIdentity(settings, database, unproved);
  const moved =
    movedFrom === undefined
      ? []
      : [`the destination was ${movedFrom}: what is there stays unchanged and is no longer updated`];
  return [...notes, ...moved].map((message) => ({ type: 'note', message }));
}

async function settleKey(context: RunContext, identity: Identity): Promise<Settled> {
  const { key, movedFrom, isBlank, unproved } = identity;
  // For a state without a recorded key, only a new destination is a reason to check.
  const isRotated = !isBlank && (key === 'other' || (key === 'unknown' && movedFrom !== undefined));
  if (context.options.acceptNewKey === true) {
    const isNews = isRotated || unproved.size > 0;
    return {
      unproved: new Map(),
      notes: isNews ? ['the new key was accepted without checking its data'] : [],
    };
  }
  if (isRotated) return settleRotation(context, identity);
  return unproved.size === 0 ? { unproved, notes: [] } : settleRest(context, unproved);
}

/** Compares every stream of the config; one that could not be compared keeps the key that read its rows. */
async function settleRotation(context: RunContext, { heldKey, unproved }: Identity): Promise<Settled> {
  const own = nameKey(context.settings);
  const isOwn = (stream: string) => unproved.get(stream) === own;
  const shown = await proveAll(context, isOwn);
  const rest = new Map<string, string>();
  for (const table of await listHeldTables(context.database))
    if (!shown.has(table) && !isOwn(table)) rest.set(table, unproved.get(table) ?? heldKey ?? '');
  const open = rest.size === 0 ? '' : `; not checked yet: ${[...rest.keys()].join(', ')}`;
  return { unproved: rest, notes: [`the key is new, and reads the same data as in the tables${open}`] };
}

/** Compares the streams that could not be compared when the key was new, if this run reads them. */
async function settleRest(context: RunContext, unproved: UnprovedStreams): Promise<Settled> {
  const rest = new Map(unproved);
  const shown: string[] = [];
  for (const stream of selectStreams(context.settings, context.options.streams)) {
    if (!unproved.has(stream.name)) continue;
    const outcome = await proveStream(context, stream);
    if (outcome !== 'not-available') rest.delete(stream.name);
    if (outcome === 'same') shown.push(stream.name);
  }
  return {
    unproved: rest,
    notes: shown.length === 0 ? [] : [`the key reads the same data of ${shown.join(', ')} as well`],
  };
}

/**
 * Compares a stream right before rows are added to it, if it could not be compared when the run began.
 *
 * @throws StreamConfigError if it has different rows; the error of a stream that is still not available
 */
export async function assertProved(context: RunContext, stream: Stream): Promise<void> {
  const { settings, database, options } = context;
  if (options.acceptNewKey === true) return;
  if ((await findOtherKey(settings, database, stream.name)) === undefined) return;
  await proveAlone(context, stream);
  await database.transaction(() => forgetUnproved(database, stream.name));
}
