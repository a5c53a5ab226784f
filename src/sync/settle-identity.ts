import { readCheckpoints, writeCheckpoint } from '../../state/checkpoints.ts';
import { forgetUnproved, listUnproved, type UnprovedStreams } from '../../state/unproved-streams.ts';
import { selectStreams } from '../config/select-streams.ts';
import type { ProgressEvent } from '../model/progress.ts';
import { nameOf, nameScan, sliceIdOf, sliceStream, type Stream } from '../model/stream.ts';
import { tableExists } from '../warehouse/evolve-table.ts';
import { listHeldScans, listScansOf } from '../warehouse/held-tables.ts';
import { type Identity, isNewKey, judgeIdentity, readOpen, rememberIdentity } from '../storage/identity.ts';
import { recordSource, refuseKeyOfOther } from '../storage/other-accounts.ts';
import {
  assertSameData,
  findQuestion,
  isSameData,
  nameQuestion,
  proveAll,
  type Question,
} from './prove-same-data.ts';
import type { Comparing } from '../run/run-context.ts';
import { listNames } from '../text/list-names.ts';
import { nameKey } from '../model/hash-key.ts';
import { toUnread } from '../storage/unread-checkpoint.ts';

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
export async function settleIdentity(context: Comparing): Promise<readonly ProgressEvent[]> {
  const { settings, database, options } = context;
  const identity = await judgeIdentity(settings, database, options);
  const { movedFrom } = identity;
  refuseKeyOfOther(settings, identity, options);
  const { unproved, notes } = await settleKey(context, identity);
  await rememberIdentity(settings, database, unproved);
  recordSource(settings, options);
  const moved =
    movedFrom === undefined
      ? []
      : [`the destination was ${movedFrom}: what is there stays unchanged and is no longer updated`];
  return [...notes, ...moved].map((message) => ({ type: 'note', message }));
}

async function settleKey(context: Comparing, identity: Identity): Promise<Settled> {
  const { unproved } = identity;
  const isNew = isNewKey(identity);
  if (context.options.acceptNewKey === true)
    return isNew || unproved.size > 0 ? acceptKey(context, identity) : { unproved: new Map(), notes: [] };
  if (isNew) return settleRotation(context, identity);
  return unproved.size === 0 ? { unproved, notes: [] } : settleRest(context, unproved);
}

/** The rows may be those of another account: only a scan of everything shows which of them are this key's. */
async function acceptKey({ database, settings, runId }: Comparing, identity: Identity): Promise<Settled> {
  const own = nameKey(settings);
  const others = (await readCheckpoints(database)).filter(({ stream, slice }) => {
    const reader = identity.unproved.get(nameScan(stream, slice)) ?? identity.heldKey;
    return reader !== own;
  });
  await database.transaction(async () => {
    for (const checkpoint of others) await writeCheckpoint(database, toUnread(checkpoint, runId));
  });
  const names = listNames(others.map(({ stream, slice }) => nameScan(stream, slice)));
  const reading = others.length === 0 ? '' : `: everything of ${names} is read again`;
  return {
    unproved: new Map(),
    notes: [`the new key was accepted without checking its data${reading}`],
  };
}

/** Compares every stream of the config; what could not be compared keeps the key that read its rows. */
async function settleRotation(context: Comparing, { heldKey, unproved }: Identity): Promise<Settled> {
  const own = nameKey(context.settings);
  const isOwn = (scan: string) => unproved.get(scan) === own;
  const shown = await proveAll(context, isOwn);
  const rest = new Map<string, string>();
  const whole = new Set(context.settings.streams.filter(isWhole).map(({ name }) => name));
  for (const { stream, name } of await listHeldScans(context.database)) {
    // A question about a stream without slices is about all its rows.
    const isShown = shown.has(name) || (whole.has(stream) && shown.has(stream));
    if (!isShown && !isOwn(name)) rest.set(name, unproved.get(name) ?? heldKey ?? '');
  }
  const open = rest.size === 0 ? '' : `; not checked yet: ${listNames([...rest.keys()])}`;
  const news = heldKey === undefined ? 'the key' : 'the key is new, and';
  return { unproved: rest, notes: [`${news} reads the same data as in the tables${open}`] };
}

/** Compares the streams of which nothing could be compared when the key was new, if this run reads them. */
async function settleRest(context: Comparing, unproved: UnprovedStreams): Promise<Settled> {
  const held = new Set((await listHeldScans(context.database)).map(({ name }) => name));
  // Rows that are gone need no proof.
  const rest = new Map([...unproved].filter(([name]) => held.has(name)));
  const shown: string[] = [];
  for (const stream of selectStreams(context.settings, context.options.streams)) {
    const open = await findOpenStream(context, stream, unproved);
    if (open === undefined || !(await isSameData(context, open.question))) continue;
    for (const name of open.covers) rest.delete(name);
    if (open.covers.length > 0) shown.push(stream.name);
  }
  return {
    unproved: rest,
    notes: shown.length === 0 ? [] : [`the key reads the same data of ${listNames(shown)} as well`],
  };
}

/** What must be asked before rows are added, and the scans that this proves. */
interface Open {
  readonly question: Question;
  readonly covers: readonly string[];
}

/** The question about a stream of which no rows are proved; undefined if some are. */
async function findOpenStream(
  context: Comparing,
  whole: Stream,
  unproved: UnprovedStreams,
): Promise<Open | undefined> {
  const names = listUnproved(unproved, whole.name);
  if (names.length === 0) return undefined;
  const held = (await tableExists(context.database, whole.table))
    ? await listScansOf(context.database, whole.table)
    : [];
  if (held.some(({ name }) => !names.includes(name))) return undefined;
  const question = await findQuestion(context, whole);
  if (question === undefined) return undefined;
  if (question.slice !== '') return { question, covers: [nameQuestion(question)] };
  // Rows from before the stream was sliced, or of other slices: each slice must show those that it takes over.
  return { question, covers: isWhole(whole) ? names : [] };
}

function isWhole(stream: Stream): boolean {
  return sliceStream(stream).every(({ slice }) => slice === undefined);
}

/** The question about one scan; undefined if its rows are proved, or if it has none and others of its stream are. */
async function findOpenScan(
  context: Comparing,
  stream: Stream,
  unproved: UnprovedStreams,
): Promise<Open | undefined> {
  const name = nameOf(stream);
  const slice = sliceIdOf(stream);
  const names = listUnproved(unproved, stream.name);
  if (slice === '') return names.length === 0 ? undefined : { question: { stream, slice }, covers: names };
  if (names.includes(name)) return { question: { stream, slice }, covers: [name] };
  if (names.length === 0) return undefined;
  const held = await listScansOf(context.database, stream.table);
  if (held.some((scan) => scan.name === name)) return undefined;
  const isAnyProved = held.some((scan) => !names.includes(scan.name));
  // Any slice may take over rows without a slice.
  const isProved = isAnyProved && !names.includes(stream.name);
  return isProved ? undefined : { question: { stream, slice: '' }, covers: [] };
}

/**
 * Compares a scan right before its rows are added to, if it could not be compared when the run began.
 *
 * @throws StreamConfigError if it has different rows; the error of a stream that is still not available
 */
export async function assertProved(context: Comparing, stream: Stream): Promise<void> {
  const { settings, database, options } = context;
  if (options.acceptNewKey === true) return;
  const unproved = await readOpen(settings, database);
  const open = await findOpenScan(context, stream, unproved);
  if (open === undefined) return;
  await assertSameData(context, open.question);
  await database.transaction(() => forgetUnproved(database, open.covers));
}
