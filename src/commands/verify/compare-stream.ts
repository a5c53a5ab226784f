import { readCheckpoint, readContract } from '../../../state/checkpoints.ts';
import { keepsGone } from '../../load/compare-counts.ts';
import { ConfigError } from '../../model/errors.ts';
import { formatCountOf, verbOf } from '../../text/format-count.ts';
import type { Page } from '../../model/page.ts';
import type { ComparedStream } from '../../model/reports.ts';
import { type Checkpoint, nameOf, sliceIdOf, type Stream } from '../../model/stream.ts';
import {
  createFieldTree,
  type FieldTree,
  isRecordObject,
  observeRecord,
} from '../../schema/observe-fields.ts';
import type { ColumnPlan } from '../../schema/resolve-columns.ts';
import { compareRows, type RowDifferences } from '../../warehouse/compare-rows.ts';
import { tableExists } from '../../warehouse/evolve-table.ts';
import { countDuplicates } from '../../warehouse/find-key.ts';
import { INCOMING } from '../../warehouse/incoming.ts';
import { projectStage } from '../../warehouse/project-stage.ts';
import { StageStore } from '../../stage/stage-store.ts';
import { formatStagedLines } from '../../stage/staged-records.ts';
import { countRequests } from '../../plan/estimate.ts';
import { fetchScan } from '../../read/fetch-scan.ts';
import { checkContract } from '../../load/check-contract.ts';
import { storedNames } from '../../load/key-columns.ts';
import { planColumns } from '../../load/plan-columns.ts';
import { orderOf } from '../../orders/orders.ts';
import { pickPages } from '../../read/pick-pages.ts';
import { requestPage } from '../../read/request-page.ts';
import type { RunContext } from '../../run/run-context.ts';
import { doneOf, MAX_RESCANS } from '../../run/step.ts';
import { beginTurn } from '../../run/turn.ts';
import type { ScanPlan } from '../../plan/scan-plan.ts';
import { stageFolder } from '../../storage/state-folder.ts';

/** Records of the API, on disk, as many as the budget allowed. */
interface Records {
  readonly extent: 'exact' | 'sampled';
  readonly recordsFile: string;
  readonly tree: FieldTree;
  readonly total: number | undefined;
  readonly notes: readonly string[];
}

const FULL_SCAN: ScanPlan = {
  mode: 'full',
  from: undefined,
  trial: false,
  reason: 'asked for by verify',
  warnings: [],
};

/**
 * Compares one stream or slice in the API with its published table: completely if there are enough requests, else by
 * pages spread over it. Writes no table; `context` has the published file, opened read-only, and a state folder
 * aside.
 */
export async function compareStream(
  context: RunContext,
  stream: Stream,
  budget: number,
  show: number,
): Promise<ComparedStream> {
  const { database, settings, signal } = context;
  if (!(await tableExists(database, stream.table))) throw notSynced(stream);
  const checkpoint = await readCheckpoint(database, stream.name, sliceIdOf(stream));
  const learned = await readContract(database, stream.name);
  const records = await fetchRecords(context, stream, budget);
  const question = { stream, hashKey: settings.hashKey, checkpoint, learned };
  const held = await checkContract(question, records, signal);
  const { columns } = await planColumns(database, { stream, learned, hashKey: settings.hashKey }, held);
  const { rejected } = await projectStage(database, records.recordsFile, columns, {
    hold: held.hold,
    signal,
  });
  const isRepeated = await isLearnedKeyRepeated(context, checkpoint, columns);
  const differences = await compareRows(database, {
    table: stream.table,
    slice: sliceIdOf(stream),
    columns,
    key: isRepeated ? undefined : checkpoint?.keyFields,
    isWhole: records.extent === 'exact',
    withNewColumns: true,
    show,
  });
  return {
    stream: stream.name,
    slice: sliceIdOf(stream),
    extent: records.extent,
    rowsDeclared: records.total,
    rowsCompared: differences.rowsCompared,
    rowsInTable: differences.rowsInTable,
    missing: differences.missing,
    extra: differences.extra,
    differing: differences.differing,
    differs: isDifferent(stream, differences),
    examples: differences.examples,
    notes: [
      ...records.notes,
      ...(isRepeated
        ? [
            `the learned key (${checkpoint?.keyFields?.join(', ')}) is no longer unique: whole rows were compared`,
          ]
        : []),
      ...describe(stream, differences, rejected.count),
    ],
    error: undefined,
  };
}

/** Whether the records repeat the learned key. A sync would drop it; of rows with a configured key, the last one counts. */
async function isLearnedKeyRepeated(
  { database }: RunContext,
  checkpoint: Checkpoint | undefined,
  columns: readonly ColumnPlan[],
): Promise<boolean> {
  const { keyFields, keyOrigin } = checkpoint ?? {};
  if (keyFields === undefined || keyOrigin !== 'learned') return false;
  const stored = storedNames(columns);
  if (!keyFields.every((name) => stored.includes(name))) return false;
  return (await countDuplicates(database, INCOMING, keyFields)) > 0;
}

function isDifferent(stream: Stream, { missing, extra, differing }: RowDifferences): boolean {
  return missing > 0 || differing > 0 || (!keepsGone(stream) && (extra ?? 0) > 0);
}

function describe(
  stream: Stream,
  { extra, unknownColumns }: RowDifferences,
  rejected: number,
): readonly string[] {
  return [
    rejected === 0
      ? ''
      : `${formatCountOf(rejected, 'record')} would go to quarantine and ${verbOf(rejected, 'was', 'were')} not compared`,
    unknownColumns.length === 0 ? '' : `the table has no column for ${unknownColumns.join(', ')} yet`,
    keepsGone(stream) && (extra ?? 0) > 0
      ? 'rows that left the source are kept (deletes: keep): extra rows are not an error'
      : '',
  ].filter((note) => note !== '');
}

async function fetchRecords(context: RunContext, stream: Stream, budget: number): Promise<Records> {
  if (!stream.paginated) return fetchAll(context, stream);
  const head = await requestPage(context, stream, { offset: 0 });
  const needed = head.total === undefined ? Infinity : countRequests(head.total, stream.pageSize).requests;
  return 1 + needed <= budget ? fetchAll(context, stream) : samplePages(context, stream, head, budget);
}

async function fetchAll(context: RunContext, stream: Stream): Promise<Records> {
  // A restart would take the requests of other streams.
  const turn = await beginTurn(context, { stream, plan: FULL_SCAN, checkpoint: undefined });
  const step = await fetchScan(context, turn, { judgeFirstPage: () => undefined, rescans: MAX_RESCANS });
  const { verdict, recordsFile, tree, total, reasons } = doneOf(step);
  if (verdict === 'verified') return { extent: 'exact', recordsFile, tree, total, notes: [] };
  const why = `the scan is ${verdict}, so rows that it did not return may still exist: ${reasons.join('; ')}`;
  return { extent: 'sampled', recordsFile, tree, total, notes: [why] };
}

/** Takes the first page, the last one, and as many between them as the requests allow. */
async function samplePages(
  context: RunContext,
  stream: Stream,
  head: Page,
  budget: number,
): Promise<Records> {
  const { settings, source, options, runId, clock } = context;
  const folder = stageFolder(settings.stateDir, stream, options);
  const tree = createFieldTree();
  const scan = {
    version: 1,
    stream: stream.name,
    question: 'sample',
    startedAtMs: clock.now(),
    runId,
  } as const;
  const store = await StageStore.begin(folder, scan, { isDurable: false });
  try {
    const pages = [head];
    const size = Math.max(1, Math.min(stream.pageSize, head.records.length));
    const order = orderOf(source.connector.paging);
    for (const page of pickPages(order, head, { size, pages: budget }) ?? [])
      pages.push(await requestPage(context, stream, page));
    const taken = new Set<number>();
    for (const { offset, records } of pages) {
      // The last page may reach back into the one before it.
      const fresh = records.flatMap((record, at) =>
        taken.has(offset + at) ? [] : [{ record, position: offset + at }],
      );
      for (const { record, position } of fresh) {
        taken.add(position);
        if (isRecordObject(record.value)) observeRecord(tree, record.value);
      }
      const lines = fresh.map(({ record, position }) => formatStagedLines(position, [record])).join('');
      await store.append({ entry: { offset, firstPosition: offset, rows: fresh.length }, lines });
    }
    const { total } = head;
    return { extent: 'sampled', recordsFile: store.recordsFile, tree, total, notes: [] };
  } finally {
    await store.close();
  }
}

function notSynced(stream: Stream): ConfigError {
  return new ConfigError(`${nameOf(stream)} has no published table yet`, {
    code: 'usage_invalid',
    hint: `Run \`sluice sync --streams ${stream.name}\` first.`,
    context: { stream: stream.name },
  });
}
