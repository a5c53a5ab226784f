import { ResponseError } from '../model/errors.ts';
import { formatCountOf, verbOf } from '../text/format-count.ts';
import { KEY_PROOF_DAYS, sliceIdOf, type Stream } from '../model/stream.ts';
import { type CandidateColumn, proposeKeys } from '../schema/key-candidates.ts';
import type { ColumnPlan } from '../schema/resolve-columns.ts';
import { tableExists } from '../warehouse/evolve-table.ts';
import { countDuplicates, countMissingKeys, findKey, isKeyMissing } from '../warehouse/find-key.ts';
import { INCOMING } from '../warehouse/incoming.ts';
import { countLiveRows } from '../warehouse/live-rows.ts';
import { dropEqualRows, findDuplicatePositions } from './confirm-duplicates.ts';
import { doHeldRowsRepeat } from './key-doubt.ts';
import { findColumn, groupByField, resolveField, storedNames, withCompanions } from './key-columns.ts';
import { findKeyWithoutDate, shedDate } from './key-without-date.ts';
import { describeFittingKey, describeRepeatedKey, describeWrongKey } from './refuse-scan.ts';
import type { Loading } from '../run/run-context.ts';
import { type FullRefresh, readInFull, type Step } from '../run/step.ts';
import type { PlannedScan } from '../run/turn.ts';
import type { FetchedScan, PreparedKey } from '../run/scan.ts';

/** The columns of a scan that a key is chosen from. */
export interface KeyFacts {
  /** Records of the scan that became rows: the others are in quarantine, and say nothing about a key. */
  readonly rows: number;
  readonly columns: readonly ColumnPlan[];
  readonly candidates: readonly CandidateColumn[];
  /** Column of the cursor. */
  readonly cursor: string | undefined;
  /** Columns in which no two incoming rows are equal, if that is known. */
  readonly uniqueBy: readonly string[] | undefined;
}

/** A key, undefined if there is none, and what was learned about it. */
export interface SettledKey {
  readonly key: PreparedKey | undefined;
  readonly notes: readonly string[];
}

const REPLACED = 'the table is replaced as a whole';
/** What happens to the rows of a stream without a key. */
const WITHOUT_KEY = {
  merge: REPLACED,
  replace: REPLACED,
  append: 'rows that differ from all of the table are added',
} as const;

/** The key of the incoming rows, which are unique by it on return. */
export async function settleKey(
  context: Loading,
  planned: PlannedScan,
  scan: FetchedScan,
  facts: KeyFacts,
): Promise<Step<SettledKey>> {
  const { stream } = planned;
  if (stream.key.kind !== 'fields') return settleLearnedKey(context, planned, scan, facts);
  const done = await checkConfiguredKey(context, planned, scan, { ...facts, fields: stream.key.fields });
  const { key } = done;
  const isNew = key !== undefined && isNewKey(planned, key.columns);
  if (isNew && (await isRepeatedByKept(context, stream, key.columns, facts.columns)))
    throw describeRepeatedKey(stream, key.columns);
  return { done };
}

function isNewKey({ checkpoint }: PlannedScan, key: readonly string[]): boolean {
  return key.join() !== checkpoint?.keyFields?.join();
}

async function checkConfiguredKey(
  { database }: Loading,
  planned: PlannedScan,
  scan: FetchedScan,
  {
    rows,
    columns,
    candidates,
    cursor,
    uniqueBy,
    ...named
  }: KeyFacts & { readonly fields: readonly string[] },
): Promise<SettledKey> {
  const { stream } = planned;
  if (rows === 0) return { key: findConfiguredKey(named.fields, columns), notes: [] };
  const fields = named.fields.map((field) => resolveField(stream, 'key', field, columns));
  await refuseMissingKeys(database, stream, fields, columns);
  const names = withCompanions(fields, columns);
  const isUnique = uniqueBy?.every((name) => names.includes(name)) === true;
  const duplicates = isUnique ? 0 : await countDuplicates(database, INCOMING, names);
  // Pages that moved repeat rows: that says nothing about the key.
  const isDoubtful = duplicates >= FEWEST_REPEATS && scan.verdict !== 'drifted';
  const isWrong = isDoubtful && (await areMost(database, duplicates));
  const fitting =
    isWrong || (isDoubtful && isNewKey(planned, names))
      ? await findKey(database, proposeKeys(candidates, cursor))
      : undefined;
  if (isWrong) throw describeWrongKey(stream, scan.rows, duplicates, fitting);
  const key: PreparedKey = {
    columns: names,
    origin: 'config',
    ...(await keepLastOfKey(database, names, duplicates)),
  };
  return { key, notes: fitting === undefined ? [] : [describeFittingKey(stream, fitting)] };
}

async function settleLearnedKey(
  context: Loading,
  { stream, checkpoint }: PlannedScan,
  scan: FetchedScan,
  { rows, columns, candidates, cursor }: KeyFacts,
): Promise<Step<SettledKey>> {
  const { database, options } = context;
  const known = checkpoint?.keyOrigin === 'learned' ? checkpoint.keyFields : undefined;
  if (rows === 0) return settled(known && learnedKey(known));
  // A key that still names a cursor which the API refuted must be learned again without it.
  const stale =
    checkpoint?.cursorState === 'refuted' &&
    checkpoint.keyProvedOn.length < KEY_PROOF_DAYS &&
    scan.plan.mode === 'full';
  if (known !== undefined && !stale && (await isKey(database, known, columns))) {
    const shed = await shedDate(context, { stream, scan, key: known, candidates, cursor });
    if (shed === undefined || (await isRepeatedByKept(context, stream, shed, columns)))
      return settled(learnedKey(known));
    const note = `learned the key (${shed.join(', ')}): it is unique without ${cursor ?? 'a date'}`;
    return settled(learnedKey(shed), note);
  }
  // Pages that moved repeat rows: that says nothing about the key.
  if (known !== undefined && scan.verdict === 'drifted' && (await isFilled(database, known, columns)))
    return settled({
      columns: known,
      origin: 'learned',
      ...(await keepLastOfKey(database, known, await countDuplicates(database, INCOMING, known))),
    });
  if (known !== undefined && scan.plan.mode === 'incremental') return { instead: describeBrokenKey(known) };
  // A part of the data would "prove" keys that do not hold for all of it.
  const isWhole = scan.verdict !== 'drifted' || scan.cause === 'too-long';
  if (options.limit !== undefined || !isWhole || scan.plan.mode === 'incremental') return settled(undefined);
  if (scan.cause === 'too-long') await dropEqualRows(database, storedNames(columns));
  const learned =
    (await findKeyWithoutDate(database, candidates, cursor)) ??
    (await findKey(database, proposeKeys(candidates, cursor)));
  if (learned === undefined)
    return settled(undefined, `no set of fields is unique over its rows; ${WITHOUT_KEY[stream.write]}`);
  const isNew = known === undefined || known.join() !== learned.join();
  if (isNew && (await isRepeatedByKept(context, stream, learned, columns)))
    return settled(
      undefined,
      `(${learned.join(', ')}) is unique over its rows, and not over those of the table; ${WITHOUT_KEY.append}`,
    );
  return settled(learnedKey(learned), ...(isNew ? [`learned the key (${learned.join(', ')})`] : []));
}

function settled(key: PreparedKey | undefined, ...notes: readonly string[]): Step<SettledKey> {
  return { done: { key, notes } };
}

function describeBrokenKey(key: readonly string[]): FullRefresh {
  return readInFull(`the learned key (${key.join(', ')}) is no longer unique over its rows`, {
    forget: { keyFields: undefined, keyOrigin: undefined, keyProvedOn: [] },
  });
}

/** Whether rows repeat a key that stay in the table next to those of the scan. */
async function isRepeatedByKept(
  context: Loading,
  stream: Stream,
  key: readonly string[],
  columns: readonly ColumnPlan[],
): Promise<boolean> {
  const { database } = context;
  if (stream.write !== 'append' || !(await tableExists(database, stream.table))) return false;
  const held = await countLiveRows(database, stream.table, sliceIdOf(stream));
  return held > 0 && doHeldRowsRepeat(context, stream, key, columns);
}

// A source may send a row twice; but if most rows share a key, it is not their key.
const FEWEST_REPEATS = 10;

async function areMost(database: Loading['database'], duplicates: number): Promise<boolean> {
  return duplicates * 2 > (await database.count(`SELECT count(*) FROM ${INCOMING}`));
}

function learnedKey(columns: readonly string[]): PreparedKey {
  return { columns, origin: 'learned', duplicates: 0, duplicatePositions: [] };
}

async function isKey(
  database: Loading['database'],
  key: readonly string[],
  columns: readonly ColumnPlan[],
): Promise<boolean> {
  return (await isFilled(database, key, columns)) && (await countDuplicates(database, INCOMING, key)) === 0;
}

/** Whether every incoming row has a value for each column of the key. */
async function isFilled(
  database: Loading['database'],
  key: readonly string[],
  columns: readonly ColumnPlan[],
): Promise<boolean> {
  const stored = new Set(storedNames(columns));
  return (
    key.every((name) => stored.has(name)) &&
    (await countMissingKeys(database, INCOMING, groupByField(key, columns))) === 0
  );
}

async function refuseMissingKeys(
  database: Loading['database'],
  stream: Stream,
  key: readonly string[],
  columns: readonly ColumnPlan[],
): Promise<void> {
  const fields = groupByField(key, columns);
  const missing = await countMissingKeys(database, INCOMING, fields);
  if (missing > 0) {
    const [row] = await database.all(
      `SELECT min(_sluice_position) AS p FROM ${INCOMING} WHERE ${isKeyMissing(fields)}`,
    );
    throw new ResponseError(
      `${stream.name}: ${formatCountOf(missing, 'record')} ${verbOf(missing, 'has', 'have')} no value for the key (${key.join(', ')}), the first at position ${String(row?.['p'])}`,
      {
        code: 'response_invalid',
        hint: `The table is unchanged. Name fields that every record has as streams.${stream.name}.key, or set it to auto.`,
        context: { stream: stream.name },
      },
    );
  }
}

/** Keeps the last row of each key: if a source sends a row twice, the newer one counts. */
async function keepLastOfKey(
  database: Loading['database'],
  key: readonly string[],
  duplicates: number,
): Promise<Pick<PreparedKey, 'duplicates' | 'duplicatePositions'>> {
  if (duplicates === 0) return { duplicates, duplicatePositions: [] };
  const duplicatePositions = await findDuplicatePositions(database, key);
  await dropEqualRows(database, key);
  return { duplicates, duplicatePositions };
}

/** The configured key if there are no rows: valid if the table has its columns. */
export function findConfiguredKey(
  fields: readonly string[],
  columns: readonly ColumnPlan[],
): PreparedKey | undefined {
  const names = fields.flatMap((field) => findColumn(field, columns)?.name ?? []);
  if (names.length < fields.length) return undefined;
  const key = withCompanions(names, columns);
  return { columns: key, origin: 'config', duplicates: 0, duplicatePositions: [] };
}
