import type { RunReport, StreamReport } from '../model/run-report.ts';
import { nameScan } from '../model/stream.ts';
import { formatCount } from '../text/format-count.ts';
import { describeRunFooter } from './describe-run.ts';
import { describeFailures } from './describe-failures.ts';
import { describeNotes } from './describe-notes.ts';
import { toSafeLine } from './safe-text.ts';
import { drawTable, measureBlock } from './table.ts';
import type { TableColumn } from './table.ts';
import { wrapText } from './wrap-text.ts';

/** What the rendering of a report depends on in addition to the report. */
export interface ReportOptions {
  readonly nowMs: number;
  /** Width of the terminal; undefined if unlimited. */
  readonly columns: number | undefined;
}

/** A run for people: its streams, what failed and why, what it cost and where the data is. */
export function renderRunReport(report: RunReport, options: ReportOptions): string {
  return [
    report.streams.length === 0 ? '' : renderStreams(report.streams, options.columns),
    ...[
      report.warnings.map((warning) => `warning: ${toSafeLine(warning)}`).join('\n'),
      describeFailures(report),
      describeRunFooter(report, options.nowMs),
    ].map((prose) => wrapText(prose, options.columns)),
  ]
    .filter((block) => block !== '')
    .join('\n\n');
}

const COLUMNS: readonly TableColumn[] = [
  { title: 'STREAM' },
  { title: 'VERDICT' },
  { title: 'NEW', align: 'right' },
  { title: 'CHANGED', align: 'right' },
  // Short, so that the table of the built-in streams fits in 80 columns.
  { title: 'SAME', align: 'right' },
  { title: 'IN TABLE', align: 'right' },
  { title: 'REQUESTS', align: 'right' },
];

/** The table of streams, with its notes next to it if they fit, else below it. */
function renderStreams(streams: readonly StreamReport[], columns: number | undefined): string {
  const rows = streams.map(describeRow);
  const notes = streams.map((stream) => describeNotes(stream).join('; '));
  const width = columns ?? Number.POSITIVE_INFINITY;
  if (notes.some((note) => note !== '')) {
    const wide = drawTable(
      [...COLUMNS, { title: 'NOTE' }],
      rows.map((row, i) => [...row, notes[i] ?? '']),
    );
    if (measureBlock(wide) <= width) return wide;
  }
  const below = streams.flatMap(({ stream }, i) => (notes[i] === '' ? [] : [`${stream}: ${notes[i]}`]));
  const plain = drawTable(COLUMNS, rows);
  const table = measureBlock(plain) <= width ? plain : streams.map(renderRecord).join('\n');
  return below.length === 0 ? table : `${table}\n\n${wrapText(below.join('\n'), columns)}`;
}

function describeRow(report: StreamReport): readonly string[] {
  const { rows } = report;
  const counts = report.status === 'complete' ? [rows.inserted, rows.updated, rows.unchanged] : [];
  return [
    nameStream(report),
    describeVerdict(report),
    ...[0, 1, 2].map((i) => formatCount(counts[i])),
    describeTable(report),
    formatCount(report.requests),
  ];
}

/** The same for a terminal too narrow for the table. */
function renderRecord(report: StreamReport): string {
  const { rows } = report;
  const counts =
    report.status === 'complete'
      ? `\n  new ${formatCount(rows.inserted)}, changed ${formatCount(rows.updated)}, ` +
        `unchanged ${formatCount(rows.unchanged)}\n  in table ${describeTable(report)}`
      : '';
  return `${nameStream(report)}\n  ${describeVerdict(report)}${counts}`;
}

/** Rows of the table, and of the API if it has a different number. */
function describeTable({ rowsInTable, rowsInApi, difference = 0 }: StreamReport): string {
  const rows = formatCount(rowsInTable);
  return difference === 0 ? rows : `${rows} of ${formatCount(rowsInApi)}`;
}

function nameStream({ stream, slice }: StreamReport): string {
  return toSafeLine(nameScan(stream, slice));
}

function describeVerdict({ status, verdict }: StreamReport): string {
  return status === 'complete' ? (verdict ?? 'complete') : status;
}
