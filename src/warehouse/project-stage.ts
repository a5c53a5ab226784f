import { stat } from 'node:fs/promises';
import { isRecordObject } from '../schema/observe-fields.ts';
import { cellReader, compileProjection } from '../schema/project-record.ts';
import type { ColumnPlan } from '../schema/resolve-columns.ts';
import type { Database } from './database.ts';
import { quoteIdentifier, quoteLiteral } from './identifiers.ts';
import { LineWriter, type WrittenLines } from './line-writer.ts';
import { findQuarantined, type QuarantineFilter, RELEASED } from './quarantine.ts';
import { type RejectedRecords, RejectedWriter } from './rejected-records.ts';
import { readStagedRecords } from './staged-records.ts';

/** Name of the table a scan's rows wait in before they are merged. */
export const INCOMING = 'temp.incoming';

/** A record as it becomes a row, or why it does not. */
export type HeldRecord =
  | { readonly value: Readonly<Record<string, unknown>> }
  | { readonly value: undefined; readonly reason: string; readonly path: string };

/** What decides about a scan's records while they are projected. */
export interface ProjectionRules {
  /** Without it every object becomes a row. */
  readonly hold?: ((value: unknown) => HeldRecord) | undefined;
  /** Where a record came, from its position in the scan. */
  readonly locate?: ((position: number) => RecordPlace) | undefined;
  /** Records that may be in quarantine from earlier runs. */
  readonly quarantined?: QuarantineFilter | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The offset a record's page was asked for by, and its place in that page. */
export interface RecordPlace {
  readonly pageOffset: number;
  readonly rowIndex: number;
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
  const { rows, rejected, released } = await writeProjection(recordsFile, columns, rules);
  const cells = columns.map(({ name, type }, at) => ({
    cell: `c${at}`,
    name: quoteIdentifier(name),
    ...cellReader(`c${at}`, type),
  }));
  const readColumns = [`i: 'BIGINT'`, ...cells.map(({ cell, readAs }) => `${cell}: '${readAs}'`)].join(', ');
  const select = ['i AS _sluice_position', ...cells.map(({ sql, name }) => `${sql} AS ${name}`)].join(', ');
  // Replacing it would hold the rows of two streams in memory at once.
  await database.run(`DROP TABLE IF EXISTS ${INCOMING}`);
  await database.beginLoad((await stat(rows.file)).size);
  await database.run(`CREATE TEMP TABLE incoming AS SELECT ${select} FROM ${readLines(rows, readColumns)}`);
  if (released !== undefined) {
    await database.run(`DROP TABLE IF EXISTS ${RELEASED}`);
    await database.run(
      `CREATE TEMP TABLE released AS SELECT i AS position, h AS id FROM ${readLines(released, `i: 'BIGINT', h: 'VARCHAR'`)}`,
    );
  }
  return { rejected, releases: released !== undefined };
}

function readLines({ file, lineLimit }: WrittenLines, columns: string): string {
  return `read_json(${quoteLiteral(file)}, format = 'newline_delimited', maximum_object_size = ${lineLimit}, columns = {${columns}})`;
}

async function writeProjection(
  recordsFile: string,
  columns: readonly ColumnPlan[],
  { hold = holdObject, locate = locateAlone, quarantined, signal }: ProjectionRules,
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
  try {
    for await (const records of readStagedRecords(recordsFile, signal)) {
      for (const { position, text, value } of records) {
        const held = hold(value);
        if (held.value === undefined) {
          const { reason, path } = held;
          await rejected.add({ position, ...locate(position), reason, path, text });
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
