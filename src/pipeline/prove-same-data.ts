import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { readCheckpoint, readContract } from '../../state/checkpoints.ts';
import { ConfigError, ForbiddenError, NotFoundError } from '../model/errors.ts';
import { formatCountOf } from '../model/format-count.ts';
import type { PageRecord } from '../model/page.ts';
import { nameOf, sliceIdOf, sliceStream, type Stream } from '../model/stream.ts';
import { createFieldTree, isRecordObject, observeRecord } from '../schema/observe-fields.ts';
import { compareRows } from '../warehouse/compare-rows.ts';
import { tableExists } from '../warehouse/evolve-table.ts';
import { countLiveRows } from '../warehouse/live-rows.ts';
import { projectStage } from '../warehouse/project-stage.ts';
import { StageStore } from '../warehouse/stage-store.ts';
import { formatStagedLines } from '../warehouse/staged-records.ts';
import { requestPage } from './fetch/request-page.ts';
import { sampleDocument } from './fetch/sample-document.ts';
import { adviseOwnFolder } from './identity.ts';
import { checkContract } from './load/check-contract.ts';
import { planColumns } from './load/plan-columns.ts';
import type { RunContext } from './run-context.ts';

/** Records of a document that are looked at. */
const SAMPLE_RECORDS = 500;
/** This share of the records must have a row with the same key in the table. */
const LEAST_KNOWN = 1 / 2;
/** This share must have all values in the table: ids that count from 1 are the same in every account. */
const LEAST_EQUAL = 1 / 5;

interface Seen {
  readonly compared: number;
  readonly known: number;
  readonly equal: number;
}

/**
 * Checks that a new key reads the rows that are in the tables, before anything is written with it: the first page of
 * each stream with rows, or the last page if the table does not have the first. Rows of two accounts in one table
 * could never be separated again.
 *
 * @throws ConfigError if a stream has different rows, or no stream could be compared
 */
export async function proveSameData(context: RunContext): Promise<void> {
  let isShown = false;
  let isHeld = false;
  for (const whole of context.settings.streams) {
    const stream = await findSliceWithRows(context, whole);
    if (stream === undefined) continue;
    isHeld = true;
    const seen = await lookAt(context, stream);
    if (seen === undefined) continue;
    if (!isSame(seen)) throw toMismatchError(context, describe(stream, seen));
    isShown = true;
  }
  if (isHeld && !isShown) throw toMismatchError(context, 'no stream with rows could be compared');
}

async function findSliceWithRows({ database }: RunContext, whole: Stream): Promise<Stream | undefined> {
  if (!(await tableExists(database, whole.table))) return undefined;
  for (const stream of sliceStream(whole))
    if ((await countLiveRows(database, stream.table, sliceIdOf(stream))) > 0) return stream;
  return undefined;
}

/** Undefined where the key may not read the stream, or the API does not have it any more. */
async function lookAt(context: RunContext, stream: Stream): Promise<Seen | undefined> {
  try {
    if (!stream.paginated) {
      const { records } = await sampleDocument(context, stream, undefined, SAMPLE_RECORDS);
      return await compare(context, stream, records);
    }
    const { settings, client, signal } = context;
    const ask = (offset: number) => requestPage(settings, client, stream, undefined, offset, signal);
    const head = await ask(0);
    const first = await compare(context, stream, head.records);
    const lastOffset = (head.total ?? 0) - head.records.length;
    if (isSame(first) || lastOffset <= 0 || settings.connector.paging.kind !== 'offset') return first;
    // The newest rows may come first, and be missing from a table that was not synced for a while.
    const last = await compare(context, stream, (await ask(lastOffset)).records);
    return isSame(last) ? last : first;
  } catch (thrown) {
    if (thrown instanceof ForbiddenError || thrown instanceof NotFoundError) return undefined;
    throw thrown;
  }
}

function isSame({ compared, known, equal }: Seen): boolean {
  return compared > 0 && known >= compared * LEAST_KNOWN && equal >= compared * LEAST_EQUAL;
}

/** Compares records with the table as a scan of them would; writes no table. */
async function compare(context: RunContext, stream: Stream, records: readonly PageRecord[]): Promise<Seen> {
  if (records.length === 0) return { compared: 0, known: 0, equal: 0 };
  const { database, settings, signal, runId, clock } = context;
  const slice = sliceIdOf(stream);
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
    const { columns } = await planColumns(database, stream, held, learned, settings.hashKey);
    await projectStage(database, recordsFile, columns, { hold: held.hold, signal });
    const { rowsCompared, missing, differing } = await compareRows(database, {
      table: stream.table,
      slice,
      columns,
      key: checkpoint?.keyFields,
      isWhole: false,
      show: 0,
    });
    const known = rowsCompared - missing;
    return { compared: rowsCompared, known, equal: known - differing };
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function describe(stream: Stream, { compared, known, equal }: Seen): string {
  if (compared === 0) return `${nameOf(stream)}: it returns no records, but the table has rows`;
  const records = formatCountOf(compared, 'record');
  return `of ${records} of ${nameOf(stream)} ${known} ${known === 1 ? 'is' : 'are'} in the table by key, and ${equal} with all values`;
}

function toMismatchError({ settings, client }: RunContext, why: string): ConfigError {
  const requests = formatCountOf(client.usage.requests, 'request');
  return new ConfigError(
    `the state in ${settings.stateDir} was made with a different key, and this key does not return the same data: ${why}`,
    {
      code: 'identity_mismatch',
      hint: `Where it is a new key of the same account, run \`sluice sync --accept-new-key\` once. For another account: ${adviseOwnFolder(settings)} Nothing was written; it took ${requests}.`,
      context: { path: settings.stateDir },
    },
  );
}
