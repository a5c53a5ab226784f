import { open } from 'node:fs/promises';
import type { ColumnPlan } from '../schema/resolve-columns.ts';
import { cellReader, compileProjection } from '../schema/project-record.ts';
import { isRecordObject } from '../schema/observe-fields.ts';
import type { Database } from './database.ts';
import { quoteIdentifier, quoteLiteral } from './identifiers.ts';
import { readStagedRecords, type StagedRecord } from './staged-records.ts';

/** Name of the table a scan's rows wait in before they are merged. */
export const INCOMING = 'temp.incoming';

// The engine sets twice its line limit aside before it reads anything: a fixed large one would not fit
// into a small container.
const LEAST_LINE_LIMIT = 2 ** 20;
const WRITE_CHUNK = 1 << 20;

/**
 * Turns a stage into the table `incoming`: `_sluice_position` and the typed columns. Returns the records that
 * are no objects and so fit no table; they go to quarantine.
 */
export async function projectStage(
  database: Database,
  recordsFile: string,
  columns: readonly ColumnPlan[],
  signal?: AbortSignal,
): Promise<readonly StagedRecord[]> {
  const projected = `${recordsFile}.flat`;
  const { rejected, longestLine } = await writeProjection(recordsFile, projected, columns, signal);
  const lineLimit = Math.max(LEAST_LINE_LIMIT, longestLine + 1);
  const cells = columns.map(({ name, type }, at) => ({
    cell: `c${at}`,
    name: quoteIdentifier(name),
    ...cellReader(`c${at}`, type),
  }));
  const readColumns = [`i: 'BIGINT'`, ...cells.map(({ cell, readAs }) => `${cell}: '${readAs}'`)].join(', ');
  const select = ['i AS _sluice_position', ...cells.map(({ sql, name }) => `${sql} AS ${name}`)].join(', ');
  // Replacing it would hold the rows of two streams in memory at once.
  await database.run(`DROP TABLE IF EXISTS ${INCOMING}`);
  await database.run(`CREATE TEMP TABLE incoming AS SELECT ${select} FROM read_json(${quoteLiteral(projected)},
    format = 'newline_delimited', maximum_object_size = ${lineLimit}, columns = {${readColumns}})`);
  return rejected;
}

async function writeProjection(
  recordsFile: string,
  projected: string,
  columns: readonly ColumnPlan[],
  signal: AbortSignal | undefined,
): Promise<{ readonly rejected: readonly StagedRecord[]; readonly longestLine: number }> {
  const project = compileProjection(columns);
  const rejected: StagedRecord[] = [];
  let longestLine = 0;
  const output = await open(projected, 'w', 0o600);
  try {
    let pending = '';
    for await (const records of readStagedRecords(recordsFile, signal)) {
      for (const record of records) {
        if (!isRecordObject(record.value)) {
          rejected.push(record);
          continue;
        }
        const line = project(record.position, record.value);
        // Counted only where it can matter: no character takes more than three bytes.
        if (line.length * 3 > LEAST_LINE_LIMIT) longestLine = Math.max(longestLine, Buffer.byteLength(line));
        pending += line;
      }
      if (pending.length >= WRITE_CHUNK) {
        await output.appendFile(pending);
        pending = '';
      }
    }
    await output.appendFile(pending);
  } finally {
    await output.close();
  }
  return { rejected, longestLine };
}
