import type { RebuildReport, RebuiltStream } from '../model/reports.ts';
import { capitalize, describePlace } from './format-values.ts';
import { describeOwnError } from './describe-failures.ts';
import type { FittingColumn } from './fitting-table.ts';
import { drawFittingTable } from './fitting-table.ts';
import { formatCount, formatCountOf, verbOf } from '../text/format-count.ts';
import { describeEnd, withoutName } from '../text/name-once.ts';
import { toSafeBlock, toSafeLine } from './safe-text.ts';
import { wrapText } from './wrap-text.ts';

const COLUMNS: readonly FittingColumn[] = [
  { title: 'STREAM' },
  { title: 'RESULT' },
  { title: 'SCANS', align: 'right' },
  { title: 'SINCE', dropAt: 1 },
  { title: 'RECORDS', align: 'right' },
  { title: 'BEFORE', align: 'right' },
  { title: 'NOW', align: 'right' },
];

/** A rebuild for people. */
export function renderRebuild(report: RebuildReport, columns: number | undefined): string {
  const columnsShown = report.dryRun ? COLUMNS.slice(0, 5) : COLUMNS;
  const table = drawFittingTable(
    columnsShown,
    report.streams.map((stream) => describeRow(stream).slice(0, columnsShown.length)),
    columns,
  );
  const prose = [
    ...report.warnings.map((warning) => `warning: ${toSafeLine(warning)}`),
    ...report.streams.flatMap(describeNotes),
    ...report.streams.flatMap(describeFailure),
    ...describeOwnError(report.error, report.streams),
    describeFooter(report),
  ];
  return [table, ...prose.map((text) => wrapText(text, columns))].join('\n\n');
}

/** One sentence about a rebuild. */
export function summarizeRebuild({ dryRun, streams, error }: RebuildReport): string {
  const failed = streams.filter(({ status }) => status === 'failed').length;
  const done = streams.filter(({ status }) => status === 'rebuilt' || status === 'planned').length;
  const aside = failed === 0 ? '' : `, ${formatCount(failed)} refused`;
  if (error !== undefined) return `the rebuild did not finish: ${toSafeLine(error.message)}`;
  if (done === 0 && failed === 0) return 'nothing is archived yet';
  return dryRun
    ? `${formatCountOf(done, 'stream')} can be rebuilt${aside}`
    : `${formatCountOf(done, 'stream')} rebuilt${aside}, no request spent`;
}

function describeRow(row: RebuiltStream): readonly string[] {
  const { stream, status, scans, from, records, rowsBefore, rowsAfter } = row;
  const since = from === undefined ? '-' : from.slice(0, 10);
  const counts = scans === 0 ? ['-', '-', '-'] : [formatCount(scans), since, formatCount(records)];
  return [toSafeLine(stream), WORDS[status], ...counts, formatCount(rowsBefore), formatCount(rowsAfter)];
}

const WORDS: Readonly<Record<RebuiltStream['status'], string>> = {
  rebuilt: 'rebuilt',
  planned: 'can be rebuilt',
  empty: 'nothing archived',
  failed: 'refused',
  'not-run': 'not reached',
};

function describeNotes(row: RebuiltStream): readonly string[] {
  const { stream, status, rowsKept, rowsQuarantined, schemaChanges, notes } = row;
  if (status !== 'rebuilt' && status !== 'planned') return [];
  const parts = [
    ...notes.map(toSafeLine),
    rowsKept === 0
      ? ''
      : `${formatCountOf(rowsKept, 'row')} that the archive no longer holds ${verbOf(rowsKept, 'was', 'were')} kept`,
    rowsQuarantined === 0 ? '' : `${formatCountOf(rowsQuarantined, 'record')} in quarantine`,
    describeColumns(schemaChanges),
  ].filter((part) => part !== '');
  return parts.length === 0 ? [] : [`${toSafeLine(stream)}: ${parts.join('; ')}`];
}

// For a new table every column is new, and a list of them says nothing.
function describeColumns(changes: RebuiltStream['schemaChanges']): string {
  const added = changes.filter(({ fromType }) => fromType === undefined);
  const retyped = changes.flatMap(({ column, fromType, toType }) =>
    fromType === undefined ? [] : [`${toSafeLine(column)} is now ${toType} (was ${fromType})`],
  );
  const news =
    added.length > MOST_COLUMNS
      ? [formatCountOf(added.length, 'new column')]
      : added.map(({ column, toType }) => `new column ${toSafeLine(column)} ${toType}`);
  return [...news, ...retyped].join('; ');
}

const MOST_COLUMNS = 5;

function describeFailure({ stream, error }: RebuiltStream): readonly string[] {
  if (error === undefined) return [];
  const text = `${toSafeBlock(withoutName(error.message, stream))}\n  next: ${toSafeBlock(error.hint)}`;
  return [describeEnd(toSafeLine(stream), 'failed', text)];
}

function describeFooter(report: RebuildReport): string {
  // Its error is above.
  const summary =
    report.error === undefined ? capitalize(summarizeRebuild(report)) : 'The rebuild did not finish';
  return `${summary}.${describePlace(report.published)}`;
}
