import { type Checkpoint, type Stream, sliceIdOf } from '../model/stream.ts';
import {
  type CandidateColumn,
  chooseCursorCandidate,
  rankCursorCandidates,
} from '../schema/key-candidates.ts';
import { type FieldTree, findNode } from '../schema/observe-fields.ts';
import { pathKey } from '../schema/name-columns.ts';
import type { ColumnPlan } from '../schema/resolve-columns.ts';
import { tableExists } from '../warehouse/evolve-table.ts';
import { countMissingKeys } from '../warehouse/find-key.ts';
import { quoteIdentifier } from '../warehouse/identifiers.ts';
import { INCOMING } from '../warehouse/incoming.ts';
import { projectStage } from '../warehouse/project-stage.ts';
import { readQuarantineFilter } from '../warehouse/quarantine.ts';
import { findSuspects } from './confirm-duplicates.ts';
import { rejectAlikeKeys } from './alike-keys.ts';
import type { EarlyWork } from './early-work.ts';
import { checkContract } from './check-contract.ts';
import {
  describeFindings,
  assertContractKept,
  refuseTooManyDiscards,
  refuseTooManyRejects,
} from './judge-findings.ts';
import { findCompanion, resolveField, storedNames, withCompanions } from './key-columns.ts';
import { isKeyFormatChanged } from './key-doubt.ts';
import { chooseIncomingPlace } from './incoming-place.ts';
import { locateRecords } from './locate-records.ts';
import { findAbsentFields, findUnmatchedRules, isWholeScan, refuseUnmatchedMasks } from './missed-fields.ts';
import { describeMisfits } from './misfit-types.ts';
import { planColumns } from './plan-columns.ts';
import type { Loading } from '../run/run-context.ts';
import type { FetchedScan, PreparedLoad } from '../run/scan.ts';
import { readInFull, type Step } from '../run/step.ts';
import type { Turn } from '../run/turn.ts';
import { listSeenElements } from './seen-elements.ts';
import { listSeenTypes } from './seen-types.ts';
import { refuseRemaskedLoad } from './rehashed-key.ts';
import { type KeyFacts, settleKey } from './settle-key.ts';

/** Turns a fetched scan into typed rows and determines their key. */
export async function prepareLoad(
  context: Loading,
  turn: Turn,
  scan: FetchedScan,
  early?: EarlyWork,
): Promise<Step<PreparedLoad>> {
  const { stream, checkpoint } = turn;
  const { database, settings, options, signal } = context;
  const tableExisted = await tableExists(database, stream.table);
  const learned = tableExisted ? turn.learned : [];
  const question = { stream, hashKey: settings.hashKey, checkpoint, learned };
  const held = await checkContract(question, scan, signal);
  assertContractKept(stream, held.findings);
  refuseTooManyDiscards(stream, scan.rows, held.findings);
  if (!tableExisted) refuseUnmatchedMasks(context, stream, scan, held);
  const { columns, changes } = await planColumns(database, question, held);
  const projected = await projectStage(database, scan.recordsFile, columns, {
    hold: held.hold,
    locate: () => locateRecords(stream, scan.recordsFile),
    quarantined: await readQuarantineFilter(database, { stream: stream.name, slice: sliceIdOf(stream) }),
    tree: held.tree,
    constants: held.constants,
    place: await chooseIncomingPlace(database, stream),
    early: await early?.takeRows(),
    signal,
  });
  const { releases } = projected;
  const found = held.findings.rejected;
  const { rejected, uniqueBy } = await rejectAlikeKeys({
    database,
    stream,
    scan,
    columns,
    ...projected,
    found,
  });
  refuseTooManyRejects(stream, scan.rows, rejected, held.findings);

  const { tree } = held;
  const rows = scan.rows - rejected.count;
  const candidates = await listCandidates(context, tree, columns);
  const known = spreadKey(checkpoint, columns);
  const cursorColumn = chooseCursor(turn, scan, { rows, columns, candidates });
  const left = changes.masked?.left ?? learned;
  const absent = findAbsentFields(context, stream, scan, { tree, rejected, learned: left });
  const facts = { rows, columns, candidates, cursor: cursorColumn, uniqueBy };
  const settled = await settleKey(context, { ...turn, checkpoint: known }, scan, facts);
  if ('instead' in settled) return settled;
  const { key, notes } = settled.done;
  await refuseRemaskedLoad(database, turn, { key, columns, columnChanges: changes });
  if (scan.plan.mode === 'incremental' && tableExisted && isKeyFormatChanged(key?.columns, changes))
    return { instead: readInFull('its key columns have different types now') };
  const range = await readCursorRange(context, columns, cursorColumn);
  const load: PreparedLoad = {
    columns,
    columnChanges: changes,
    tableExisted,
    rejected,
    releases,
    absentSince: absent.since,
    elements: listSeenElements(tree, columns),
    jsonTypes: listSeenTypes(columns, tree, learned, isWholeScan(scan, options.limit)),
    key,
    suspects: await findSuspects(database, {
      stream,
      scan,
      checkpoint: known,
      key,
      columns: storedNames(columns),
    }),
    cursorColumn,
    notes: [...absent.notes, ...notes],
    warnings: [
      ...describeFindings(rejected, held),
      ...(rejected.count > 0 ? [] : findUnmatchedRules(context, stream, scan, held)),
      ...(await describeMisfits(database, stream, columns)),
      ...(rows > 0 && range.newestCursor === undefined ? describeDatelessCursor(stream) : []),
    ],
    ...range,
  };
  return { done: load };
}

function describeDatelessCursor({ name, cursor }: Stream): readonly string[] {
  if (cursor.kind !== 'field') return [];
  return [
    `no record has a date in the cursor field ${cursor.field}, so each sync reads everything: set streams.${name}.cursor.field to a field of dates`,
  ];
}

async function listCandidates(
  { database }: Loading,
  tree: FieldTree,
  columns: readonly ColumnPlan[],
): Promise<readonly CandidateColumn[]> {
  const candidates: CandidateColumn[] = [];
  for (const column of columns.filter(({ type, companion }) => type !== 'NULL' && !companion)) {
    const { path, name, type } = column;
    const node = findNode(tree.root, path);
    // Values may have gone to the companion: count the values of such columns.
    const isFilled =
      node?.filled === tree.records &&
      (findCompanion(column, columns) === undefined ||
        (await countMissingKeys(database, INCOMING, [[name]])) === 0);
    candidates.push({ name, type, alwaysFilled: isFilled, longestText: node?.longestText ?? 0 });
  }
  return candidates;
}

/** Adds new companions to the known key. */
function spreadKey(
  checkpoint: Checkpoint | undefined,
  columns: readonly ColumnPlan[],
): Checkpoint | undefined {
  if (checkpoint?.keyFields === undefined) return checkpoint;
  return { ...checkpoint, keyFields: withCompanions(checkpoint.keyFields, columns) };
}

function chooseCursor(
  { stream, checkpoint }: Turn,
  scan: FetchedScan,
  { rows, columns, candidates }: Pick<KeyFacts, 'rows' | 'columns' | 'candidates'>,
): string | undefined {
  const { datedBy, plan } = scan;
  // Current rules cannot change what its start date referred to.
  if (datedBy !== undefined && (stream.cursor.kind === 'auto' || plan.mode === 'incremental'))
    return datedBy === null ? undefined : findByPath(columns, datedBy)?.name;
  if (stream.cursor.kind === 'off') return undefined;
  if (rows === 0) return checkpoint?.cursorField;
  if (stream.cursor.kind === 'field') return resolveField(stream, 'cursor', stream.cursor.field, columns);
  if (checkpoint?.cursorState === 'refuted') return followCandidate(candidates, checkpoint.cursorField);
  if (scan.plan.mode === 'incremental' || checkpoint?.cursorState === 'proved') {
    return checkpoint?.cursorField ?? chooseCursorCandidate(candidates);
  }
  return chooseCursorCandidate(candidates);
}

function findByPath(columns: readonly ColumnPlan[], path: readonly string[]): ColumnPlan | undefined {
  return columns.find((column) => !column.companion && pathKey(column.path) === pathKey(path));
}

/** The candidate after a refuted one, so that each is tried once. */
function followCandidate(
  candidates: readonly CandidateColumn[],
  refuted: string | undefined,
): string | undefined {
  const ranked = rankCursorCandidates(candidates);
  const at = ranked.indexOf(refuted ?? '');
  return at === -1 ? undefined : ranked[at + 1];
}

/** The newest and the oldest day of the incoming rows, by the cursor's column; undefined if it has none. */
async function readCursorRange(
  { database }: Loading,
  columns: readonly ColumnPlan[],
  cursor: string | undefined,
): Promise<Pick<PreparedLoad, 'newestCursor' | 'oldestCursor' | 'dateless'>> {
  const column = columns.find(({ name }) => name === cursor);
  if (column === undefined || !['DATE', 'TIMESTAMP', 'TIMESTAMPTZ', 'VARCHAR'].includes(column.type)) {
    return { newestCursor: undefined, oldestCursor: undefined, dateless: undefined };
  }
  // A configured cursor may be a text column with some values that are not dates.
  const date = `TRY_CAST(${column.type === 'VARCHAR' ? `left(${quoteIdentifier(column.name)}, 10)` : quoteIdentifier(column.name)} AS DATE)`;
  // Dates are compared as text from here on, and sort as such within four-digit years only.
  const bounded = (value: string) =>
    `if(${value} IS NULL, NULL, CAST(greatest(DATE '0001-01-01', least(DATE '9999-12-31', ${value})) AS VARCHAR))`;
  const [row] = await database.all(
    `SELECT ${bounded(`max(${date})`)} AS newest, ${bounded(`min(${date})`)} AS oldest,
       count(*) FILTER (${date} IS NULL) AS dateless FROM ${INCOMING}`,
  );
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
  return {
    newestCursor: text(row?.['newest']),
    oldestCursor: text(row?.['oldest']),
    dateless: Number(row?.['dateless'] ?? 0),
  };
}
