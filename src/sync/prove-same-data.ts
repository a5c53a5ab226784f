import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { readCheckpoint, readCheckpoints, readContract } from '../../state/checkpoints.ts';
import { ConfigError, ForbiddenError, NotFoundError, StreamConfigError } from '../model/errors.ts';
import { formatCountOf } from '../text/format-count.ts';
import type { PageRecord } from '../model/page.ts';
import { orderOf } from '../orders/orders.ts';
import { nameOf, sliceIdOf, sliceStream, type Stream } from '../model/stream.ts';
import type { ColumnPlan } from '../schema/resolve-columns.ts';
import { createFieldTree, isRecordObject, observeRecord } from '../schema/observe-fields.ts';
import { compareRows } from '../warehouse/compare-rows.ts';
import { tableExists } from '../warehouse/evolve-table.ts';
import { countLiveRows } from '../warehouse/live-rows.ts';
import { projectStage } from '../warehouse/project-stage.ts';
import { StageStore } from '../stage/stage-store.ts';
import { formatStagedLines } from '../stage/staged-records.ts';
import { requestPage } from '../read/request-page.ts';
import { sampleDocument } from '../read/sample-document.ts';
import { adviseOwnFolder, adviseReset, nameAcceptance, nameState } from '../storage/identity.ts';
import { checkContract } from '../load/check-contract.ts';
import { planColumns } from '../load/plan-columns.ts';
import { findConfiguredKey } from '../load/settle-key.ts';
import type { Comparing } from '../run/run-context.ts';

/** Records of a document that are looked at. */
const SAMPLE_RECORDS = 500;
/** This share of the records must have a row with the same key in the table. */
const LEAST_KNOWN = 1 / 2;
/** This share must have all values in the table: ids that count from 1 are the same in every account. */
const LEAST_EQUAL = 1 / 5;

/** This many standard deviations above what chance gives is not a coincidence. */
const FAR = 4;
/** All of many rows are equal by chance only this rarely. */
const RARE = 0.001;

/** The result of a comparison. */
export interface Seen {
  readonly compared: number;
  readonly known: number;
  readonly equal: number;
  /** How likely a row of another account would be equal, 0 to 1. */
  readonly chance: number;
  /** Whether records are compared with the rows of their keys, or with any row. */
  readonly hasKey: boolean;
}

/** A stream to ask for, and the slice whose rows are compared; empty for all rows. */
export interface Question {
  readonly stream: Stream;
  readonly slice: string;
}

/** The scan that a question is about. */
export function nameQuestion({ stream }: Question): string {
  return nameOf(stream);
}

/**
 * Checks that a new key reads the rows that are in the tables, before anything is written with it: the first page of
 * each stream with rows (of its first slice with rows), or the last page if the table does not have the first. Rows of
 * two accounts in one table could never be separated again.
 *
 * @param isOwn whether this key itself read the rows of a scan
 * @returns scans whose rows it reads
 * @throws ConfigError if a stream has different rows, or no stream could be compared
 */
export async function proveAll(
  context: Comparing,
  isOwn: (scan: string) => boolean,
): Promise<ReadonlySet<string>> {
  const shown = new Set<string>();
  let isHeld = false;
  for (const stream of context.settings.streams) {
    const question = await findQuestion(context, stream);
    if (question === undefined) continue;
    isHeld = true;
    const name = nameQuestion(question);
    if (isOwn(name)) {
      shown.add(name);
      continue;
    }
    const seen = await lookAtAvailable(context, question);
    if (seen === undefined) continue;
    if (!isSame(seen)) throw toMismatchError(context, describe(question, seen));
    shown.add(name);
  }
  if (isHeld && shown.size === 0) throw toMismatchError(context, 'no stream with rows could be compared');
  return shown;
}

/**
 * The same for one scan that was not compared when the key was new.
 *
 * @returns false if the API does not have it now
 * @throws ConfigError if it has different rows
 */
export async function isSameData(context: Comparing, question: Question): Promise<boolean> {
  const seen = await lookAtAvailable(context, question);
  if (seen === undefined) return false;
  if (!isSame(seen)) throw new ConfigError(...describeOther(context, question, seen, 'Nothing was written'));
  return true;
}

/**
 * The same during a run, which continues with its other streams.
 *
 * @throws StreamConfigError if it has different rows; the error of a stream that is not available
 */
export async function assertSameData(context: Comparing, question: Question): Promise<void> {
  const seen = await lookAt(context, question);
  // A slice without records takes over no rows.
  if (seen.compared === 0 && question.slice === '' && question.stream.slice !== undefined) return;
  if (!isSame(seen))
    throw new StreamConfigError(...describeOther(context, question, seen, 'Its table is unchanged'));
}

/** The first slice with rows. If none has any, the rows are those of slices that the config had before. */
export async function findQuestion(
  { database }: Pick<Comparing, 'database'>,
  whole: Stream,
): Promise<Question | undefined> {
  if (!(await tableExists(database, whole.table))) return undefined;
  const streams = sliceStream(whole);
  for (const stream of streams) {
    const slice = sliceIdOf(stream);
    if ((await countLiveRows(database, stream.table, slice)) > 0) return { stream, slice };
  }
  const [stream] = streams;
  const isHeld = stream !== undefined && (await countLiveRows(database, whole.table, '')) > 0;
  return isHeld ? { stream, slice: '' } : undefined;
}

/** Undefined if the key may not read the stream, or the API no longer has it. */
async function lookAtAvailable(context: Comparing, question: Question): Promise<Seen | undefined> {
  try {
    return await lookAt(context, question);
  } catch (thrown) {
    if (thrown instanceof ForbiddenError || thrown instanceof NotFoundError) return undefined;
    throw thrown;
  }
}

async function lookAt(context: Comparing, question: Question): Promise<Seen> {
  const { stream } = question;
  if (!stream.paginated) {
    const { records } = await sampleDocument(context, stream, undefined, SAMPLE_RECORDS);
    return compare(context, question, records);
  }
  const { connector } = context.source;
  const head = await requestPage(context, stream, { offset: 0 });
  const first = await compare(context, question, head.records);
  const lastOffset = (head.total ?? 0) - head.records.length;
  const isAll = isSame(first) || lastOffset <= 0;
  const picked = isAll ? undefined : orderOf(connector.paging).pick(lastOffset, head.records.length);
  if (picked === undefined) return first;
  // The newest rows may come first, and be missing from a table that was not synced for a while.
  const last = await compare(context, question, (await requestPage(context, stream, picked)).records);
  return isSame(last) ? last : first;
}

/** Whether the records are those of the table, and not only alike: a yes or no is equal in every second row. */
export function isSame({ compared, known, equal, chance, hasKey }: Seen): boolean {
  if (compared === 0 || known < compared * LEAST_KNOWN || equal < compared * LEAST_EQUAL) return false;
  // With a key, new records say nothing. Without one, they look like any other records.
  const judged = hasKey ? known : compared;
  if (equal === judged && chance ** judged < RARE) return true;
  // A few rows do not show well how alike they are.
  const alike = Math.min(1, chance + 1 / judged);
  const beyond = Math.max((1 - alike) * LEAST_EQUAL, FAR * Math.sqrt((alike * (1 - alike)) / judged));
  return equal / judged >= alike + beyond;
}

/** Compares records with the table as a scan of them would; writes no table. */
async function compare(
  context: Comparing,
  { stream, slice }: Question,
  records: readonly PageRecord[],
): Promise<Seen> {
  if (records.length === 0) return { compared: 0, known: 0, equal: 0, chance: 0, hasKey: false };
  const { database, settings, signal, runId, clock } = context;
  const checkpoint = await readCheckpoint(database, stream.name, slice);
  const learned = await readContract(database, stream.name);
  const tree = createFieldTree();
  for (const { value } of records) if (isRecordObject(value)) observeRecord(tree, value);
  const folder = join(settings.stateDir, 'tmp', 'new-key');
  const scan = { version: 1, stream: stream.name, question: 'key', startedAtMs: clock.now(), runId } as const;
  const store = await StageStore.begin(folder, scan, { isDurable: false });
  try {
    const lines = formatStagedLines(0, records);
    await store.append({ entry: { offset: 0, firstPosition: 0, rows: records.length }, lines });
    await store.flush();
    const { recordsFile } = store;
    const question = { stream, hashKey: settings.hashKey, checkpoint, learned };
    const held = await checkContract(question, { recordsFile, tree }, signal);
    const { columns } = await planColumns(database, question, held);
    await projectStage(database, recordsFile, columns, { hold: held.hold, signal });
    const { rowsCompared, missing, differing, chance, hasKey } = await compareRows(database, {
      table: stream.table,
      slice,
      columns,
      key: checkpoint?.keyFields ?? (await findKeyOfTable(context, stream, columns)),
      isWhole: false,
      show: 0,
      withChance: true,
    });
    const known = rowsCompared - missing;
    return { compared: rowsCompared, known, equal: known - differing, chance, hasKey };
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The key of rows that other slices of the stream brought: their checkpoints know it, or config. */
async function findKeyOfTable(
  { database }: Comparing,
  { name, key }: Stream,
  columns: readonly ColumnPlan[],
): Promise<readonly string[] | undefined> {
  if (key.kind === 'fields') return findConfiguredKey(key.fields, columns)?.columns;
  const checkpoints = await readCheckpoints(database);
  return checkpoints.find((one) => one.stream === name && one.keyFields !== undefined)?.keyFields;
}

function describe({ stream }: Question, { compared, known, equal }: Seen): string {
  if (compared === 0) return `${nameOf(stream)}: it returns no records, but the table has rows`;
  const records = formatCountOf(compared, 'record');
  return `of ${records} of ${nameOf(stream)} ${known} ${known === 1 ? 'is' : 'are'} in the table by key, and ${equal} with all values`;
}

function toMismatchError(context: Comparing, why: string): ConfigError {
  const { settings, options } = context;
  return new ConfigError(
    `${nameState(settings, options.ofAccount)} was made with a different key, and this key does not return the same data: ${why}`,
    adviseOther(context, 'Nothing was written'),
  );
}

function describeOther(context: Comparing, question: Question, seen: Seen, safe: string) {
  return [
    `the rows of ${nameQuestion(question)} were read with a different key, and this key does not return the same data: ${describe(question, seen)}`,
    adviseOther(context, safe),
  ] as const;
}

function adviseOther({ settings, source, options: { ofAccount: account } }: Comparing, safe: string) {
  const requests = formatCountOf(source.client.usage.requests, 'request');
  const reset = `If the tables were read with a wrong key, ${adviseReset(account)}.`;
  const accept = `If this is a new key of the same account, run ${nameAcceptance(account)} once: rows that it does not return stay in the tables.`;
  return {
    code: 'identity_mismatch',
    hint: `${reset} ${accept} ${adviseOwnFolder(settings, account)} ${safe}; it took ${requests}.`,
    context: { path: settings.stateDir },
  } as const;
}
