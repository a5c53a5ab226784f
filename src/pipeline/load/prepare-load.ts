import { ResponseError, StreamConfigError } from '../../model/errors.ts';
import { type Checkpoint, type LearnedColumn, sliceIdOf, type Stream } from '../../model/stream.ts';
import { type CandidateColumn, chooseCursorCandidate, proposeKeys } from '../../schema/key-candidates.ts';
import { toFieldName } from '../../schema/field-paths.ts';
import { namesField } from '../../schema/field-rules.ts';
import { pathKey } from '../../schema/name-columns.ts';
import type { FieldNode, FieldTree } from '../../schema/observe-fields.ts';
import type { ColumnPlan } from '../../schema/resolve-columns.ts';
import { tableExists } from '../../warehouse/evolve-table.ts';
import { countDuplicates, countMissingKeys, findKey } from '../../warehouse/find-key.ts';
import { quoteIdentifier } from '../../warehouse/identifiers.ts';
import { INCOMING, projectStage } from '../../warehouse/project-stage.ts';
import { readQuarantineFilter } from '../../warehouse/quarantine.ts';
import { dropEqualRows, findDuplicatePositions, findSuspects } from '../fetch/confirm-duplicates.ts';
import { holdToContract } from './hold-to-contract.ts';
import { describeFindings, refuseBroken, refuseTooManyRejects } from './judge-findings.ts';
import { locateRecords } from './locate-records.ts';
import { findAbsentFields, findUnmatchedRules, refuseMisspeltMasks } from './missed-fields.ts';
import { describeMisfits } from './misfit-types.ts';
import { planColumns } from './plan-columns.ts';
import { describeWrongKey } from './refuse-scan.ts';
import type { RunContext } from '../run-context.ts';
import { type FetchedScan, KEY_PROOF_DAYS, type PreparedKey, type PreparedLoad } from '../scan.ts';

/** A learned key no longer holds: the stream has to be read in full to learn another. */
export class KeyBroken extends Error {}

/** Turns a fetched scan into typed rows and settles the key they are told apart by. */
export async function prepareLoad(
  context: RunContext,
  stream: Stream,
  scan: FetchedScan,
  checkpoint: Checkpoint | undefined,
  contract: readonly LearnedColumn[],
): Promise<PreparedLoad> {
  const { database, settings, signal } = context;
  const tableExisted = await tableExists(database, stream.table);
  const learned = tableExisted ? contract : [];
  const question = { stream, hashKey: settings.hashKey, checkpoint, learned };
  const held = await holdToContract(question, scan, signal);
  refuseBroken(stream, held.findings);
  if (!tableExisted) refuseMisspeltMasks(context, stream, scan, held);
  const { columns, changes } = await planColumns(database, stream, held, learned);
  const { rejected, releases } = await projectStage(database, scan.recordsFile, columns, {
    hold: held.hold,
    locate: () => locateRecords(stream, scan.recordsFile),
    quarantined: await readQuarantineFilter(database, { stream: stream.name, slice: sliceIdOf(stream) }),
    tree: held.tree,
    constants: held.constants,
    signal,
  });
  refuseTooManyRejects(stream, scan.rows, rejected, held.findings);

  const { tree } = held;
  const candidates = listCandidates(tree, columns);
  const cursorColumn = chooseCursor(stream, scan, checkpoint, columns, candidates);
  const absent = findAbsentFields(context, stream, scan, tree, changes.masked?.left ?? learned);
  const notes = [...absent.notes];
  const key = await settleKey(context, stream, scan, checkpoint, columns, candidates, cursorColumn, notes);
  return {
    columns,
    columnChanges: changes,
    tableExisted,
    rejected,
    releases,
    absentSince: absent.since,
    key,
    suspects: await findSuspects(database, { stream, scan, checkpoint, key, columns: storedNames(columns) }),
    cursorColumn,
    notes,
    warnings: [
      ...describeFindings(rejected, held),
      ...findUnmatchedRules(context, stream, scan, held),
      ...(await describeMisfits(database, stream, columns)),
    ],
    ...(await readCursorRange(context, columns, cursorColumn)),
  };
}

function listCandidates(tree: FieldTree, columns: readonly ColumnPlan[]): readonly CandidateColumn[] {
  return columns
    .filter(({ type, companion }) => type !== 'NULL' && !companion)
    .map(({ path, name, type }) => {
      const node = findNode(tree.root, path);
      return { name, type, alwaysFilled: node?.filled === tree.records, longestText: node?.longestText ?? 0 };
    });
}

function findNode(root: FieldNode, path: readonly string[]): FieldNode | undefined {
  return path.reduce<FieldNode | undefined>((node, name) => node?.children.get(name), root);
}

function chooseCursor(
  stream: Stream,
  scan: FetchedScan,
  checkpoint: Checkpoint | undefined,
  columns: readonly ColumnPlan[],
  candidates: readonly CandidateColumn[],
): string | undefined {
  if (stream.cursor.kind === 'off') return undefined;
  if (scan.rows === 0) return checkpoint?.cursorField;
  if (stream.cursor.kind === 'field') return resolveField(stream, 'cursor', stream.cursor.field, columns);
  if (checkpoint?.cursorState === 'refuted') return undefined;
  if (scan.plan.mode === 'incremental' || checkpoint?.cursorState === 'proved') {
    return checkpoint?.cursorField ?? chooseCursorCandidate(candidates);
  }
  return chooseCursorCandidate(candidates);
}

async function settleKey(
  { database, options }: RunContext,
  stream: Stream,
  scan: FetchedScan,
  checkpoint: Checkpoint | undefined,
  columns: readonly ColumnPlan[],
  candidates: readonly CandidateColumn[],
  cursor: string | undefined,
  notes: string[],
): Promise<PreparedKey | undefined> {
  if (stream.key.kind === 'fields') {
    if (scan.rows === 0) return findConfiguredKey(stream.key.fields, columns);
    const names = stream.key.fields.map((field) => resolveField(stream, 'key', field, columns));
    await refuseMissingKeys(database, stream, names);
    const duplicates = await countDuplicates(database, INCOMING, names);
    // Pages that moved repeat rows: that says nothing about the key.
    if (scan.verdict !== 'drifted' && (await areMost(database, duplicates))) {
      const fitting = await findKey(database, proposeKeys(candidates, cursor));
      throw describeWrongKey(stream, scan.rows, duplicates, fitting);
    }
    return { columns: names, origin: 'config', ...(await keepLastOfKey(database, names, duplicates)) };
  }
  const known = checkpoint?.keyOrigin === 'learned' ? checkpoint.keyFields : undefined;
  if (scan.rows === 0) return known && learnedKey(known);
  // A key that still names a cursor which the API refuted must be learned again without it.
  const stale =
    checkpoint?.cursorState === 'refuted' &&
    checkpoint.keyProvedOn.length < KEY_PROOF_DAYS &&
    scan.plan.mode === 'full';
  if (known !== undefined && !stale && (await isKey(database, known, columns))) return learnedKey(known);
  // Pages that moved repeat rows: that says nothing about the key.
  if (known !== undefined && scan.verdict === 'drifted' && (await isFilled(database, known, columns)))
    return {
      columns: known,
      origin: 'learned',
      ...(await keepLastOfKey(database, known, await countDuplicates(database, INCOMING, known))),
    };
  if (known !== undefined && scan.plan.mode === 'incremental') throw new KeyBroken(known.join(', '));
  // A part of the data would "prove" keys that the whole refutes.
  const isWhole = scan.verdict !== 'drifted' || scan.cause === 'too-long';
  if (options.limit !== undefined || !isWhole || scan.plan.mode === 'incremental') return undefined;
  if (scan.cause === 'too-long') await dropEqualRows(database, storedNames(columns));
  const learned = await findKey(database, proposeKeys(candidates, cursor));
  if (learned === undefined) {
    notes.push('no set of fields tells its rows apart; the table is replaced as a whole');
    return undefined;
  }
  if (known === undefined || known.join() !== learned.join())
    notes.push(`learned the key (${learned.join(', ')})`);
  return learnedKey(learned);
}

// A source may send a row twice; a key that most rows share is no key of theirs.
const FEWEST_REPEATS = 10;

async function areMost(database: RunContext['database'], duplicates: number): Promise<boolean> {
  if (duplicates < FEWEST_REPEATS) return false;
  return duplicates * 2 > (await database.count(`SELECT count(*) FROM ${INCOMING}`));
}

function storedNames(columns: readonly ColumnPlan[]): readonly string[] {
  return columns.filter(({ type }) => type !== 'NULL').map(({ name }) => name);
}

function learnedKey(columns: readonly string[]): PreparedKey {
  return { columns, origin: 'learned', duplicates: 0, duplicatePositions: [] };
}

async function isKey(
  database: RunContext['database'],
  key: readonly string[],
  columns: readonly ColumnPlan[],
): Promise<boolean> {
  return (await isFilled(database, key, columns)) && (await countDuplicates(database, INCOMING, key)) === 0;
}

/** Whether every incoming row has a value for each column of the key. */
async function isFilled(
  database: RunContext['database'],
  key: readonly string[],
  columns: readonly ColumnPlan[],
): Promise<boolean> {
  const stored = new Set(storedNames(columns));
  return key.every((name) => stored.has(name)) && (await countMissingKeys(database, INCOMING, key)) === 0;
}

async function refuseMissingKeys(
  database: RunContext['database'],
  stream: Stream,
  key: readonly string[],
): Promise<void> {
  const missing = await countMissingKeys(database, INCOMING, key);
  if (missing > 0) {
    const [row] = await database.all(
      `SELECT min(_sluice_position) AS p FROM ${INCOMING} WHERE ${key.map((name) => `${quoteIdentifier(name)} IS NULL`).join(' OR ')}`,
    );
    throw new ResponseError(
      `${stream.name}: ${missing} records have no value for the key (${key.join(', ')}), the first at position ${String(row?.['p'])}`,
      {
        code: 'response_invalid',
        hint: `The table is as it was. Name fields that every record has as streams.${stream.name}.key, or set it to auto.`,
        context: { stream: stream.name },
      },
    );
  }
}

/** Of rows with one key the last stays, as a source that sends a row twice means the newer one. */
async function keepLastOfKey(
  database: RunContext['database'],
  key: readonly string[],
  duplicates: number,
): Promise<Pick<PreparedKey, 'duplicates' | 'duplicatePositions'>> {
  if (duplicates === 0) return { duplicates, duplicatePositions: [] };
  const duplicatePositions = await findDuplicatePositions(database, key);
  const partition = key.map(quoteIdentifier).join(', ');
  await database.run(`DELETE FROM ${INCOMING} WHERE _sluice_position NOT IN
    (SELECT max(_sluice_position) FROM ${INCOMING} GROUP BY ${partition})`);
  return { duplicates, duplicatePositions };
}

/** The configured key over no rows: it holds, if the table has its columns. */
export function findConfiguredKey(
  fields: readonly string[],
  columns: readonly ColumnPlan[],
): PreparedKey | undefined {
  const names = fields.flatMap((field) => findColumn(field, columns)?.name ?? []);
  return names.length < fields.length
    ? undefined
    : { columns: names, origin: 'config', duplicates: 0, duplicatePositions: [] };
}

function findColumn(field: string, columns: readonly ColumnPlan[]): ColumnPlan | undefined {
  return (
    columns.find(({ path }) => path.join('.') === field || pathKey(path) === field) ??
    columns.find(({ name }) => name === field) ??
    columns.find(({ path, companion }) => !companion && namesField(field, path.map(toFieldName)))
  );
}

/** Column of a field a user named: by its path with dots, or by the column's own name. */
function resolveField(
  stream: Stream,
  what: 'key' | 'cursor',
  field: string,
  columns: readonly ColumnPlan[],
): string {
  const found = findColumn(field, columns);
  if (found !== undefined && found.type !== 'NULL') return found.name;
  const known = columns
    .filter(({ type, companion }) => type !== 'NULL' && !companion)
    .map(({ path }) => path.join('.'));
  throw new StreamConfigError(
    `streams.${stream.name}.${what} names "${field}", which ${found === undefined ? 'no record has' : 'is null in every record'}`,
    {
      code: 'config_invalid',
      hint: `The table is as it was. Fields of this stream: ${known.slice(0, 30).join(', ') || 'none'}.`,
      context: { stream: stream.name },
    },
  );
}

async function readCursorRange(
  { database }: RunContext,
  columns: readonly ColumnPlan[],
  cursor: string | undefined,
): Promise<Pick<PreparedLoad, 'newestCursor' | 'oldestCursor'>> {
  const column = columns.find(({ name }) => name === cursor);
  if (column === undefined || !['DATE', 'TIMESTAMP', 'TIMESTAMPTZ', 'VARCHAR'].includes(column.type)) {
    return { newestCursor: undefined, oldestCursor: undefined };
  }
  // A configured cursor may be text that only mostly holds dates.
  const date = `TRY_CAST(${column.type === 'VARCHAR' ? `left(${quoteIdentifier(column.name)}, 10)` : quoteIdentifier(column.name)} AS DATE)`;
  const [row] = await database.all(
    `SELECT CAST(max(${date}) AS VARCHAR) AS newest, CAST(min(${date}) AS VARCHAR) AS oldest FROM ${INCOMING}`,
  );
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
  return { newestCursor: text(row?.['newest']), oldestCursor: text(row?.['oldest']) };
}
