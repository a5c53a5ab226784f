import { open, stat } from 'node:fs/promises';
import { assertNotAborted } from '../model/abort.ts';
import { BugError } from '../model/errors.ts';
import { type FieldTree, isRecordObject } from '../schema/observe-fields.ts';
import { cellReader, compileProjection } from '../schema/project-record.ts';
import type { ColumnPlan } from '../schema/resolve-columns.ts';
import type { Database } from './database.ts';
import { quoteIdentifier, quoteLiteral } from './identifiers.ts';
import { LEAST_LINE_LIMIT, LineWriter, type WrittenLines } from './line-writer.ts';
import { findQuarantined, type QuarantineFilter, RELEASED } from './quarantine.ts';
import { type RejectedRecords, RejectedWriter } from './rejected-records.ts';
import { selectStage } from './read-stage.ts';
import { isForEngine, readStagedRecords } from './staged-records.ts';

/**
 * Name of the table a scan's rows wait in before they are merged. No stream can have a name with `~`: a table of its
 * name would be hidden by ours.
 */
export const INCOMING = 'temp."~incoming"';

/** A record as it becomes a row, or why it does not. */
export type HeldRecord =
  | { readonly value: Readonly<Record<string, unknown>> }
  | { readonly value: undefined; readonly reason: string; readonly path: string };

/** What decides about a scan's records while they are projected. */
export interface ProjectionRules {
  /** Without it every object becomes a row. */
  readonly hold?: ((value: unknown) => HeldRecord) | undefined;
  /** Reads where records came; asked for only once a record is rejected, since it takes a list of all pages. */
  readonly locate?: (() => Promise<(position: number) => RecordPlace>) | undefined;
  /** Records that may be in quarantine from earlier runs. */
  readonly quarantined?: QuarantineFilter | undefined;
  /** The fields of all records, where they are known: then the engine may read the stage by itself. */
  readonly tree?: FieldTree | undefined;
  /** All that `hold` does: it gives every object these fields, which no record has. */
  readonly constants?: Readonly<Record<string, unknown>> | undefined;
  /** What was read of the stage while it came. */
  readonly early?: EarlyPart | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The offset a record's page was asked for by, and its place in that page. */
export interface RecordPlace {
  readonly pageOffset: number;
  readonly rowIndex: number;
}

/** The part of a stage that is in the table `incoming` already. */
export interface EarlyPart {
  /** Reads the rest of a file of this size, bytes; false where the part was read as other columns than these. */
  complete(size: number, tree: FieldTree, columns: readonly ColumnPlan[]): Promise<boolean>;
}

/** What became of a scan's records. */
export interface ProjectedStage {
  /** Records that fit no table; they go to quarantine. */
  readonly rejected: RejectedRecords;
  /** Whether the table `released` names accepted records that may be in quarantine. */
  readonly releases: boolean;
}

/** Turns a stage into the table `incoming`: `_sluice_position` and the typed columns. */
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
  const into = left === 'all' ? 'CREATE TEMP TABLE "~incoming" AS' : `INSERT INTO ${INCOMING} BY NAME`;
  await database.run(`${into} SELECT ${select} FROM ${readLines(rows, readColumns)}`);
  if (released !== undefined) {
    await database.run(`DROP TABLE IF EXISTS ${RELEASED}`);
    await database.run(
      `CREATE TEMP TABLE "~released" AS SELECT i AS position, h AS id FROM ${readLines(released, `i: 'BIGINT', h: 'VARCHAR'`)}`,
    );
  }
  return { rejected, releases: released !== undefined };
}

/** Records of a stage that the engine has not read by itself. */
type LeftRecords = 'all' | 'odd' | 'none';

/**
 * Has the engine read what it may of a stage, where nothing decides about single records. A record that it
 * refuses makes it leave them all: the projection knows what to do with any.
 */
async function readDirectly(
  database: Database,
  recordsFile: string,
  columns: readonly ColumnPlan[],
  rules: ProjectionRules,
): Promise<LeftRecords> {
  const { size } = await stat(recordsFile);
  if (!(await completeEarly(size, columns, rules))) {
    // Replacing it would hold the rows of two streams in memory at once.
    await database.run(`DROP TABLE IF EXISTS ${INCOMING}`);
    if (!(await readWhole(database, recordsFile, columns, rules))) return 'all';
  }
  await database.beginLoad(size);
  const isOdd = '_sluice_position IS NULL';
  if ((await database.count(`SELECT count(*) FROM ${INCOMING} WHERE ${isOdd}`)) === 0) return 'none';
  await database.run(`DELETE FROM ${INCOMING} WHERE ${isOdd}`);
  return 'odd';
}

/** Whether all of a stage is in the table, since a part of it was there. */
async function completeEarly(
  size: number,
  columns: readonly ColumnPlan[],
  { hold, quarantined, tree, early }: ProjectionRules,
): Promise<boolean> {
  if (early === undefined || tree === undefined || hold !== undefined || quarantined !== undefined)
    return false;
  try {
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
  { hold, quarantined, tree, constants, signal }: ProjectionRules,
): Promise<boolean> {
  const isPlain = quarantined === undefined && (hold === undefined || constants !== undefined);
  if (tree === undefined || !isPlain) return false;
  const select = selectStage({ file: recordsFile, lineLimit: LEAST_LINE_LIMIT }, tree, columns, constants);
  if (select === undefined || !(await beginsForEngine(recordsFile))) return false;
  assertNotAborted(signal);
  await database.beginReading();
  try {
    await database.run(`CREATE TEMP TABLE "~incoming" AS ${select}`);
    return true;
  } catch (error) {
    if (error instanceof BugError) return false;
    throw error;
  }
}

const FIRST_BYTES = 1 << 16;

/** Whether the engine may read what a stage begins with: one that it may hardly read is not read twice. */
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
  /** Undefined without a filter. */
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
