import { open, stat } from 'node:fs/promises';
import { assertNotAborted } from '../model/abort.ts';
import { BugError } from '../model/errors.ts';
import { type FieldTree, isRecordObject } from '../schema/observe-fields.ts';
import { cellReader, compileProjection } from '../schema/project-record.ts';
import type { ColumnPlan } from '../schema/resolve-columns.ts';
import type { Database } from './database.ts';
import { quoteIdentifier, quoteLiteral } from './identifiers.ts';
import {
  appendIncoming,
  createIncoming,
  deleteIncoming,
  INCOMING,
  type IncomingPlace,
  LONG_BYTES,
} from './incoming.ts';
import { LEAST_LINE_LIMIT, LineWriter, type WrittenLines } from '../stage/line-writer.ts';
import { findQuarantined, type QuarantineFilter, RELEASED } from './quarantine.ts';
import { type RejectedRecords, RejectedWriter } from './rejected-records.ts';
import { selectStage } from './read-stage.ts';
import { isForEngine, readStagedRecords } from '../stage/staged-records.ts';

/** A record as it becomes a row, or the reason why it is rejected. */
export type HeldRecord =
  | { readonly value: Readonly<Record<string, unknown>> }
  | { readonly value: undefined; readonly reason: string; readonly path: string };

/** The rules that apply to a scan's records while they are projected. */
export interface ProjectionRules {
  /** If undefined, every object becomes a row. */
  readonly hold?: ((value: unknown) => HeldRecord) | undefined;
  /** Locates records; called only when a record is rejected, as it needs a list of all pages. */
  readonly locate?: (() => Promise<(position: number) => RecordPlace>) | undefined;
  /** Filter for records that may be in quarantine from earlier runs. */
  readonly quarantined?: QuarantineFilter | undefined;
  /** The fields of all records, if known: then the engine may read the stage directly. */
  readonly tree?: FieldTree | undefined;
  /** The only effect of `hold`: it adds these fields, which no record has, to every object. */
  readonly constants?: Readonly<Record<string, unknown>> | undefined;
  /** Where the rows of a long scan go if the engine reads them directly; by default they are temporary. */
  readonly place?: IncomingPlace | undefined;
  /** The part of the stage that was read during the scan. */
  readonly early?: EarlyPart | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The offset of a record's page, and its index in the page. */
export interface RecordPlace {
  readonly pageOffset: number;
  readonly rowIndex: number;
}

/** The part of a stage that is already in the table `incoming`. */
export interface EarlyPart {
  /** Reads the rest of a file of this size in bytes; false if the part was read with different columns. */
  complete(size: number, tree: FieldTree, columns: readonly ColumnPlan[]): Promise<boolean>;
}

/** The result of projecting a scan's records. */
export interface ProjectedStage {
  /** Rejected records; they go to quarantine. */
  readonly rejected: RejectedRecords;
  /** Whether the table `released` lists accepted records that may be in quarantine. */
  readonly releases: boolean;
}

/** Projects a stage into the table `incoming`: `_sluice_position` and the typed columns. */
export async function projectStage(
  database: Database,
  recordsFile: string,
  columns: readonly ColumnPlan[],
  rules: ProjectionRules = {},
): Promise<ProjectedStage> {
  const left = await readDirectly(database, recordsFile, columns, rules);
  if (left === 'none')
    return { rejected: await new RejectedWriter(`${recordsFile}.rejected`).finish(), releases: false };
  const { rows, rejected, released } = await writeProjection(recordsFile, columns, rules, left);
  const cells = columns.map(({ name, type }, at) => ({
    cell: `c${at}`,
    name: quoteIdentifier(name),
    ...cellReader(`c${at}`, type),
  }));
  const readColumns = [`i: 'BIGINT'`, ...cells.map(({ cell, readAs }) => `${cell}: '${readAs}'`)].join(', ');
  const select = ['i AS _sluice_position', ...cells.map(({ sql, name }) => `${sql} AS ${name}`)].join(', ');
  if (left === 'all') await database.beginLoad((await stat(rows.file)).size);
  const query = `SELECT ${select} FROM ${readLines(rows, readColumns)}`;
  if (left === 'all') await createIncoming(database, query, columns);
  else await appendIncoming(database, query);
  if (released !== undefined) {
    await database.run(`DROP TABLE IF EXISTS ${RELEASED}`);
    await database.run(
      `CREATE TEMP TABLE "~released" AS SELECT i AS position, h AS id FROM ${readLines(released, `i: 'BIGINT', h: 'VARCHAR'`)}`,
    );
  }
  return { rejected, releases: released !== undefined };
}

/** Projects the records that the engine did not read directly. */
type LeftRecords = 'all' | 'odd' | 'none';

/**
 * Lets the engine read a stage directly if no rule applies to single records. If it rejects one record, all are left
 * to the projection, which can handle any record.
 */
async function readDirectly(
  database: Database,
  recordsFile: string,
  columns: readonly ColumnPlan[],
  rules: ProjectionRules,
): Promise<LeftRecords> {
  const { size } = await stat(recordsFile);
  if (!(await completeEarly(database, size, columns, rules))) {
    const place = size < LONG_BYTES ? 'temporary' : rules.place;
    if (!(await readWhole(database, recordsFile, columns, { ...rules, place }))) return 'all';
    await database.beginLoad(size);
  }
  const isOdd = '_sluice_position IS NULL';
  if ((await database.count(`SELECT count(*) FROM ${INCOMING} WHERE ${isOdd}`)) === 0) return 'none';
  await deleteIncoming(database, isOdd);
  return 'odd';
}

/** Completes a partly read stage; false if that is not possible. */
async function completeEarly(
  database: Database,
  size: number,
  columns: readonly ColumnPlan[],
  { hold, quarantined, tree, early }: ProjectionRules,
): Promise<boolean> {
  if (early === undefined || tree === undefined || hold !== undefined || quarantined !== undefined)
    return false;
  try {
    // Nothing is fetched any longer: the rest may be read by two threads.
    await database.beginLoad(size);
    return await early.complete(size, tree, columns);
  } catch (error) {
    if (error instanceof BugError) return false;
    throw error;
  }
}

async function readWhole(
  database: Database,
  recordsFile: string,
  columns: readonly ColumnPlan[],
  { hold, quarantined, tree, constants, place, signal }: ProjectionRules,
): Promise<boolean> {
  const isPlain = quarantined === undefined && (hold === undefined || constants !== undefined);
  if (tree === undefined || !isPlain) return false;
  const select = selectStage({ file: recordsFile, lineLimit: LEAST_LINE_LIMIT }, tree, columns, constants);
  if (select === undefined || !(await beginsForEngine(recordsFile))) return false;
  assertNotAborted(signal);
  await database.beginReading();
  try {
    await createIncoming(database, select, columns, place);
    return true;
  } catch (error) {
    if (error instanceof BugError) return false;
    throw error;
  }
}

const FIRST_BYTES = 1 << 16;

/** Whether the engine can read the start of a stage; otherwise a direct read is not tried. */
async function beginsForEngine(recordsFile: string): Promise<boolean> {
  const file = await open(recordsFile, 'r');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(FIRST_BYTES), 0, FIRST_BYTES, 0);
    const lines = buffer.toString('latin1', 0, bytesRead).split('\n').slice(0, -1);
    return lines.filter(isForEngine).length * 2 > lines.length;
  } finally {
    await file.close();
  }
}

function readLines({ file, lineLimit }: WrittenLines, columns: string): string {
  return `read_json(${quoteLiteral(file)}, format = 'newline_delimited', maximum_object_size = ${lineLimit}, columns = {${columns}})`;
}

async function writeProjection(
  recordsFile: string,
  columns: readonly ColumnPlan[],
  { hold = holdObject, locate = () => Promise.resolve(locateAlone), quarantined, signal }: ProjectionRules,
  which: Exclude<LeftRecords, 'none'>,
): Promise<{
  readonly rows: WrittenLines;
  readonly rejected: RejectedRecords;
  /** undefined if there is no filter */
  readonly released: WrittenLines | undefined;
}> {
  const project = compileProjection(columns);
  const rows = new LineWriter(`${recordsFile}.flat`);
  const rejected = new RejectedWriter(`${recordsFile}.rejected`);
  const released = quarantined && new LineWriter(`${recordsFile}.released`);
  let placeOf: ((position: number) => RecordPlace) | undefined;
  try {
    const isWanted = which === 'all' ? undefined : (line: string) => !isForEngine(line);
    for await (const records of readStagedRecords(recordsFile, signal, isWanted)) {
      for (const { position, text, value } of records) {
        const held = hold(value);
        if (held.value === undefined) {
          const { reason, path } = held;
          placeOf ??= await locate();
          await rejected.add({ position, ...placeOf(position), reason, path, text });
          continue;
        }
        const full = rows.add(project(position, held.value));
        if (full !== undefined) await full;
        const id = quarantined && findQuarantined(quarantined, text);
        if (id !== undefined) await released?.add(`{"i":${position},"h":"${id}"}\n`);
      }
    }
    return {
      rows: await rows.finish(),
      rejected: await rejected.finish(),
      released: await released?.finish(),
    };
  } finally {
    await Promise.all([rows.close(), rejected.close(), released?.close()]);
  }
}

const NO_OBJECT: HeldRecord = { value: undefined, reason: 'the record is not a JSON object', path: '' };

function holdObject(value: unknown): HeldRecord {
  return isRecordObject(value) ? { value } : NO_OBJECT;
}

function locateAlone(position: number): RecordPlace {
  return { pageOffset: position, rowIndex: 0 };
}
