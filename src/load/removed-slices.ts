import { readCheckpoint, readCheckpoints } from '../../state/checkpoints.ts';
import { deleteCheckpoint } from '../../state/set-aside.ts';
import { formatCountOf, verbOf } from '../text/format-count.ts';
import type { Checkpoint, Stream } from '../model/stream.ts';
import { type Deletion, deleteRows } from '../warehouse/delete-rows.ts';
import { tableName } from '../warehouse/evolve-table.ts';
import { quoteLiteral } from '../warehouse/identifiers.ts';
import { countLiveRows, readScope } from '../warehouse/live-rows.ts';
import type { Loading } from '../run/run-context.ts';
import type { LoadedScan } from '../run/turn.ts';
import type { PreparedLoad } from '../run/scan.ts';

/** What happened to rows that belong to no slice of the config. */
export interface SettledSlices {
  readonly deleted: number;
  /** Rows that were already marked as deleted and are now removed. */
  readonly markedGone: number;
  readonly notes: readonly string[];
  readonly warnings: readonly string[];
}

const NOTHING: SettledSlices = { deleted: 0, markedGone: 0, notes: [], warnings: [] };
const LEFT = 'temp."~left_rows"';

/**
 * Columns that must match, as well as the key, to adopt a row written before the stream was sliced: the key of that
 * time, as part of it may be enough within a slice. All columns if that key is no longer known.
 */
export async function findAdoption(
  { database }: Loading,
  stream: Stream,
  columns: readonly string[],
): Promise<readonly string[]> {
  if (stream.slice === undefined) return [];
  const key = (await readCheckpoint(database, stream.name, ''))?.keyFields;
  return key?.every((name) => columns.includes(name)) === true ? key : columns;
}

/**
 * Once every slice of a stream was read in full, applies `deletes` to rows of removed slices, and deletes the
 * checkpoints of those whose rows were deleted, so that a slice that returns is read in full. The last slice does
 * this for all. Call in the transaction of the commit, after its checkpoint was written.
 */
export async function settleRemovedSlices(
  context: Loading,
  stream: Stream,
  { scan, load }: LoadedScan,
  deletion: Omit<Deletion, 'how'>,
): Promise<SettledSlices> {
  const { database } = context;
  if (scan.verdict !== 'verified' && scan.verdict !== 'unverified') return NOTHING;
  if (stream.slice?.id !== stream.slices.at(-1)?.id) return NOTHING;
  const checkpoints = (await readCheckpoints(database)).filter(({ stream: name }) => name === stream.name);
  const wanted = listWanted(stream);
  const current = checkpoints.filter(({ slice, fingerprint }) => wanted.get(slice) === fingerprint);
  if (current.length < wanted.size || current.some(({ lastFullScanAt }) => lastFullScanAt === undefined))
    return NOTHING;
  const former = checkpoints.filter(({ slice }) => !wanted.has(slice));
  if (stream.slice === undefined) {
    // Without slices, every row of the table belongs to the scan.
    for (const { slice } of former) await deleteCheckpoint(database, stream.name, slice);
    return NOTHING;
  }
  const facts = { stream, load, current, former, quarantined: await countQuarantined(context, stream) };
  const sliced = `t._slice NOT IN (${[...wanted.keys()].map(quoteLiteral).join(', ')})`;
  const results = [
    await settleGroup(context, facts, { group: 'unsliced', condition: 't._slice IS NULL' }, deletion),
    await settleGroup(context, facts, { group: 'sliced', condition: sliced }, deletion),
  ];
  return {
    deleted: results.reduce((sum, one) => sum + one.deleted, 0),
    markedGone: results.reduce((sum, one) => sum + one.markedGone, 0),
    notes: results.flatMap(({ notes }) => notes),
    warnings: results.flatMap(({ warnings }) => warnings),
  };
}

/** Slices of the config with the expected fingerprints of their checkpoints. */
function listWanted(stream: Stream): ReadonlyMap<string, string> {
  if (stream.slice === undefined) return new Map([['', stream.fingerprint]]);
  return new Map(stream.slices.map(({ id, fingerprint }) => [id, fingerprint]));
}

/** Rows from before the stream was sliced, or rows of removed slices. */
type Group = 'unsliced' | 'sliced';

interface LeftFacts {
  readonly stream: Stream;
  readonly load: PreparedLoad;
  /** Checkpoints of the slices of the config. */
  readonly current: readonly Checkpoint[];
  /** Those of other slices, and of the stream as a whole. */
  readonly former: readonly Checkpoint[];
  readonly quarantined: number;
}

async function settleGroup(
  { database }: Loading,
  facts: LeftFacts,
  { group, condition }: { readonly group: Group; readonly condition: string },
  deletion: Omit<Deletion, 'how'>,
): Promise<SettledSlices> {
  const { stream, load, former } = facts;
  const { live } = await readScope(database, stream.table, '');
  await database.run(`CREATE OR REPLACE TEMP TABLE "~left_rows" AS
    SELECT t.rowid AS _sluice_row, (${live}) AS live FROM ${tableName(stream.table)} t WHERE ${condition}`);
  const left = await database.count(`SELECT count(*) FROM ${LEFT} WHERE live`);
  const marked = await database.count(`SELECT count(*) FROM ${LEFT} WHERE NOT live`);
  const held = await countLiveRows(database, stream.table, '');
  const { how, notes, warnings } = decideLeft(facts, group, left, held);
  if (how !== 'keep') {
    const columns = load.columns.filter(({ type }) => type !== 'NULL').map(({ name }) => name);
    const versioned = { table: stream.table, columns, live, isSliced: true };
    await deleteRows(database, versioned, LEFT, { ...deletion, how });
  }
  await database.run(`DROP TABLE ${LEFT}`);
  // A checkpoint is valid as long as its rows exist.
  if (how !== 'keep' || left === 0) {
    const over = former.filter(({ slice }) => (slice === '') === (group === 'unsliced'));
    for (const { slice } of over) await deleteCheckpoint(database, stream.name, slice);
  }
  return { deleted: how === 'keep' ? 0 : left, markedGone: how === 'hard' ? marked : 0, notes, warnings };
}

interface LeftDecision {
  readonly how: 'keep' | 'soft' | 'hard';
  readonly notes: readonly string[];
  readonly warnings: readonly string[];
}

function decideLeft(facts: LeftFacts, group: Group, left: number, held: number): LeftDecision {
  const { stream, current, quarantined } = facts;
  // With hard deletes, rows that were marked before are removed as well.
  if (left === 0) return { how: stream.deletes === 'hard' ? 'hard' : 'keep', notes: [], warnings: [] };
  const kept = `${formatCountOf(left, 'row')} of the table ${verbOf(left, 'belongs', 'belong')} to no slice of the config; ${verbOf(left, 'it is', 'they are')} kept`;
  const keep = (because = ''): LeftDecision => ({ how: 'keep', notes: [kept + because], warnings: [] });
  if (stream.write === 'append') return keep();
  const key = findKeyOf(facts);
  const replaced = key === 'none' || (group === 'unsliced' && isIdentityNew(facts, key));
  if (!replaced) {
    if (stream.deletes === 'keep' && stream.write !== 'replace') return keep();
    if (quarantined > 0) return keep(`: records of the stream are in quarantine`);
    const isVerified = current.every(
      ({ lastFullScanAt = '', lastVerifiedAt = '' }) => lastVerifiedAt >= lastFullScanAt,
    );
    if (!isVerified) return keep(': not every slice is verified');
  }
  // Rows of the slices replaced the earlier ones: a replaced row is not lost.
  const lost = replaced && group === 'unsliced' ? Math.max(left, countWhole(facts)) - (held - left) : left;
  if (lost / held <= stream.maxDeleteRatio) {
    const notes = [
      `${formatCountOf(left, 'row')} belonged to no slice of the config and ${verbOf(left, 'was', 'were')} deleted`,
    ];
    return { how: stream.deletes === 'soft' ? 'soft' : 'hard', notes, warnings: [] };
  }
  const setting = `streams.${stream.name}.maxDeleteRatio`;
  const message = `${kept}, because more would be deleted than ${setting} (${stream.maxDeleteRatio}) allows`;
  return { how: 'keep', notes: [message], warnings: [message] };
}

/**
 * The key of the stream; `none` if its rows have none, and `unknown` where no slice has a row that shows it. The last
 * slice alone may be empty.
 */
function findKeyOf({ load, current }: LeftFacts): readonly string[] | 'none' | 'unknown' {
  const known = load.key?.columns ?? current.find(({ keyFields }) => keyFields !== undefined)?.keyFields;
  if (known !== undefined) return known;
  return current.some(({ rowsDeclared = 0 }) => rowsDeclared > 0) ? 'none' : 'unknown';
}

/** With a key of different fields, earlier rows may be older versions of rows from the slices. */
function isIdentityNew({ former }: LeftFacts, key: readonly string[] | 'none' | 'unknown'): boolean {
  const before = former.find(({ slice }) => slice === '')?.keyFields;
  return before !== undefined && typeof key !== 'string' && !key.every((name) => before.includes(name));
}

/** Rows of the stream when it was last read as a whole; slices may have taken over some of them since. */
function countWhole({ former }: LeftFacts): number {
  return former.find(({ slice }) => slice === '')?.rowsDeclared ?? 0;
}

function countQuarantined({ database }: Loading, stream: Stream): Promise<number> {
  return database.count('SELECT count(*) FROM _sluice.quarantine WHERE stream = $1', [stream.name]);
}
