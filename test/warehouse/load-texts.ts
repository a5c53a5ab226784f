import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildRecords } from '../../src/json/page-records.ts';
import { sliceArray } from '../../src/json/slice-records.ts';
import type { PageRecord } from '../../src/model/page.ts';
import type { SchemaChange } from '../../src/model/run-report.ts';
import type { LearnedColumn } from '../../src/model/stream.ts';
import { createFieldTree, isRecordObject, observeRecord } from '../../src/schema/observe-fields.ts';
import { type ColumnPlan, resolveColumns } from '../../src/schema/resolve-columns.ts';
import type { Database } from '../../src/warehouse/database.ts';
import { evolveTable, survivesCast, tableExists } from '../../src/warehouse/evolve-table.ts';
import { type MergeCounts, mergeRows, type MergeRequest } from '../../src/warehouse/merge-rows.ts';
import { projectStage } from '../../src/warehouse/project-stage.ts';
import type { RejectedRecords } from '../../src/warehouse/rejected-records.ts';
import { formatStagedLines } from '../../src/stage/staged-records.ts';

/** A table as one load leaves it for the next. */
export interface LoadedTable {
  readonly columns: readonly ColumnPlan[];
  readonly contract: readonly LearnedColumn[];
  readonly rejected: RejectedRecords;
  readonly counts: MergeCounts;
  readonly changes: readonly SchemaChange[];
}

export interface LoadOptions {
  readonly database: Database;
  /** A folder the engine may read. */
  readonly scratch: string;
  readonly before?: LoadedTable | undefined;
  readonly merge?: Partial<MergeRequest> | undefined;
}

/** The records of a page as reading it gives them. */
export function toRecords(texts: readonly string[]): readonly PageRecord[] {
  const array = `[${texts.join(',')}]`;
  const tooDeep = (index: number) => new Error(`record ${index} is too deep`);
  return buildRecords(sliceArray(array, 0), JSON.parse(array) as unknown[], tooDeep).records;
}

/** Plans the columns of records and loads them into the incoming table. */
export async function projectTexts(
  texts: readonly string[],
  { database, scratch, before }: LoadOptions,
): Promise<Pick<LoadedTable, 'columns' | 'rejected'>> {
  const records = toRecords(texts);
  const tree = createFieldTree();
  for (const { value } of records) if (isRecordObject(value)) observeRecord(tree, value);
  const columns = await planColumns(database, tree, before?.contract ?? []);
  const file = join(scratch, 'records.ndjson');
  writeFileSync(file, formatStagedLines(0, records));
  return { columns, rejected: (await projectStage(database, file, columns, { tree })).rejected };
}

/** Loads the texts of records into the table `rows`, through every stage between a page and a commit. */
export async function loadTexts(texts: readonly string[], options: LoadOptions): Promise<LoadedTable> {
  const { database, merge } = options;
  const { columns, rejected } = await projectTexts(texts, options);
  const exists = await tableExists(database, 'rows');
  return database.transaction(async () => {
    const changes = await evolveTable(database, { name: 'rows', exists }, columns);
    const counts = await mergeRows(database, {
      table: 'rows',
      columns: columns.filter(({ type }) => type !== 'NULL').map(({ name }) => name),
      key: undefined,
      absent: 'keep',
      insertOnly: false,
      slice: '',
      history: false,
      runId: 'run-1',
      syncedAt: '2026-01-31T12:00:00.000Z',
      ...merge,
    });
    const contract = columns.map(({ path, name, type }) => ({ path, name, type }));
    return { columns, contract, rejected, counts, changes };
  });
}

async function planColumns(
  database: Database,
  tree: ReturnType<typeof createFieldTree>,
  contract: readonly LearnedColumn[],
): Promise<readonly ColumnPlan[]> {
  const answers = new Map<string, boolean>();
  const questions: [string, ...Parameters<Parameters<typeof resolveColumns>[2]>][] = [];
  resolveColumns(tree, contract, (...question) => questions.push([question.join(), ...question]) > 0);
  for (const [id, column, from, to] of questions) {
    answers.set(id, await survivesCast(database, 'rows', { column, from, to }));
  }
  return resolveColumns(tree, contract, (...question) => answers.get(question.join()) ?? false);
}
