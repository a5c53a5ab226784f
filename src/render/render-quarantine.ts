import type {
  QuarantinedRecord,
  QuarantinedRecordDetail,
  QuarantineList,
  RetriedStream,
  RetryReport,
} from '../model/quarantine-report.ts';
import { capitalize, describePlace } from './format-values.ts';
import { nameScan } from '../model/stream.ts';
import { describeOwnError } from './describe-failures.ts';
import { describeChange } from './describe-notes.ts';
import { drawFittingTable } from './fitting-table.ts';
import { formatCount, formatCountOf, verbOf } from '../text/format-count.ts';
import { formatMoment } from '../text/format-moment.ts';
import { describeEnd, withoutName } from '../text/name-once.ts';
import { toSafeBlock, toSafeCell, toSafeLine } from './safe-text.ts';
import { wrapText } from './wrap-text.ts';

const INDENT = '  ';
const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]|\s+|[^{}[\],:"\s]+/g;

/** What is in quarantine, for people. */
export function renderQuarantine(list: QuarantineList, columns: number | undefined): string {
  const { total, reasons, records } = list;
  if (total === 0) return 'Nothing is in quarantine.';
  const why = drawFittingTable(
    [
      { title: 'STREAM', dropAt: 1 },
      { title: 'FIELD' },
      { title: 'REASON' },
      { title: 'RECORDS', align: 'right' },
    ],
    reasons.map((one) => [
      toSafeCell(nameScan(one.stream, one.slice)),
      toSafeCell(nameField(one.path)),
      toSafeCell(one.reason),
      formatCount(one.records),
    ]),
    columns,
  );
  const rows = drawFittingTable(
    [
      { title: 'ID' },
      { title: 'STREAM', dropAt: 3 },
      { title: 'FIELD', dropAt: 4 },
      { title: 'OFFSET', align: 'right', dropAt: 1 },
      { title: 'ROW', align: 'right', dropAt: 1 },
      { title: 'QUARANTINED', dropAt: 2 },
    ],
    records.map((one) => [
      one.id,
      toSafeCell(nameScan(one.stream, one.slice)),
      toSafeCell(nameField(one.path)),
      formatCount(one.pageOffset),
      formatCount(one.rowIndex),
      formatMoment(one.quarantinedAt),
    ]),
    columns,
  );
  const rest = total > records.length ? `, the newest ${formatCount(records.length)} above` : '';
  const footer = `${formatCountOf(total, 'record')} in quarantine${rest}. To see one in full: sluice quarantine show ${records[0]?.id ?? 'ID'}`;
  return [why, ...(records.length === 0 ? [] : [rows]), wrapText(footer, columns)].join('\n\n');
}

function nameField(path: string): string {
  return path === '' ? '(record)' : path;
}

/** One record, for people. */
export function renderQuarantined(found: QuarantinedRecordDetail): string {
  const copies = found.copies > 1 ? `, ${formatCount(found.copies)} times` : '';
  return [
    `id           ${found.hash}`,
    `stream       ${toSafeLine(nameScan(found.stream, found.slice))}`,
    `run          ${toSafeLine(found.runId)}`,
    `quarantined  ${formatMoment(found.quarantinedAt)}${copies}`,
    `came as      row ${formatCount(found.rowIndex)} of the page at offset ${formatCount(found.pageOffset)}`,
    ...(found.absentSince === undefined
      ? []
      : [`gone since   run ${toSafeLine(found.absentSince)}: the source no longer has it`]),
    `field        ${toSafeLine(nameField(found.path))}`,
    `reason       ${toSafeLine(found.reason)}`,
    '',
    toSafeBlock(indentJson(found.record)),
  ].join('\n');
}

/** A retry, for people. */
export function renderRetry(report: RetryReport, columns: number | undefined): string {
  const { streams, warnings, error } = report;
  const table = drawFittingTable(
    [
      { title: 'STREAM' },
      { title: 'TRIED', align: 'right' },
      { title: 'NEW', align: 'right' },
      { title: 'CHANGED', align: 'right' },
      { title: 'UNCHANGED', align: 'right', dropAt: 1 },
      { title: 'OUTDATED', align: 'right', dropAt: 2 },
      { title: 'LEFT', align: 'right' },
    ],
    streams.map((one) => [
      toSafeCell(nameScan(one.stream, one.slice)),
      ...[one.tried, one.inserted, one.updated, one.unchanged, one.outdated, one.left].map(formatCount),
    ]),
    columns,
  );
  const prose = [
    ...warnings.map((warning) => `warning: ${toSafeLine(warning)}`),
    ...streams.flatMap(describeLeft),
    ...streams.flatMap(describeFailure),
    ...describeOwnError(error, streams),
    describeFooter(report),
  ].map((text) => wrapText(text, columns));
  return [...(streams.length === 0 ? [] : [table]), ...prose].join('\n\n');
}

const MOST_REASONS = 5;

function describeLeft(row: RetriedStream): readonly string[] {
  const name = toSafeLine(nameScan(row.stream, row.slice));
  const named = row.leftBecause
    .slice(0, MOST_REASONS)
    .map(({ path, reason, records }) =>
      toSafeLine(`${path === '' ? '' : `${path} `}${reason} (${formatCount(records)})`),
    );
  const more = row.leftBecause.length - named.length;
  if (more > 0) named.push(`${formatCount(more)} more`);
  return [
    ...(row.left > 0 ? [`${name}: ${formatCountOf(row.left, 'record')} left: ${named.join('; ')}`] : []),
    ...(row.outdated > 0
      ? [
          `${name}: ${formatCountOf(row.outdated, 'record')} dropped: the table has newer rows with their keys, or the source no longer has them`,
        ]
      : []),
    ...(row.schemaChanges.length > 0 ? [`${name}: ${row.schemaChanges.map(describeChange).join('; ')}`] : []),
  ];
}

function describeFailure({ stream, slice, error }: RetriedStream): readonly string[] {
  if (error === undefined) return [];
  const name = nameScan(stream, slice);
  const text = `${toSafeBlock(withoutName(error.message, name))}\n  next: ${toSafeBlock(error.hint)}`;
  return [describeEnd(toSafeLine(name), 'failed', text)];
}

/** One sentence about a retry. */
export function summarizeRetry({ streams, error }: RetryReport): string {
  if (error !== undefined) return `the retry did not finish: ${toSafeLine(error.message)}`;
  const tried = streams.reduce((sum, one) => sum + one.tried, 0);
  const left = streams.reduce((sum, one) => sum + one.left, 0);
  const failed = streams.filter((one) => one.error !== undefined).length;
  const aside = failed === 0 ? '' : `, ${formatCountOf(failed, 'stream')} failed`;
  if (tried === 0) return `nothing was in quarantine${aside}`;
  return left === tried
    ? `nothing was accepted: ${formatCountOf(left, 'record')} still ${verbOf(left, 'breaks', 'break')} the contract${aside}`
    : `${formatCountOf(tried - left, 'record')} left quarantine, ${formatCount(left)} ${verbOf(left, 'stays', 'stay')}${aside}`;
}

function describeFooter(report: RetryReport): string {
  // Its error is above.
  const summary =
    report.error === undefined ? capitalize(summarizeRetry(report)) : 'The retry did not finish';
  return `${summary}.${describePlace(report.published)}`;
}

/** Ids for a summary. */
export function summarizeQuarantine({ total }: QuarantineList): string {
  return `${formatCountOf(total, 'record')} in quarantine`;
}

/** One record in short, for a summary. */
export function summarizeQuarantined({ stream, slice, path, reason }: QuarantinedRecord): string {
  return toSafeLine(`${nameScan(stream, slice)}: ${path === '' ? '' : `${path} `}${reason}`);
}

/** JSON text over several lines. Only white space changes: every number and string stays as it was written. */
export function indentJson(text: string): string {
  let result = '';
  let level = 0;
  for (const token of text.match(TOKENS) ?? []) {
    if (token === '{' || token === '[') {
      level += 1;
      result += `${token}\n${INDENT.repeat(level)}`;
    } else if (token === '}' || token === ']') {
      level = Math.max(0, level - 1);
      result += `\n${INDENT.repeat(level)}${token}`;
    } else if (token === ',') result += `,\n${INDENT.repeat(level)}`;
    else if (token === ':') result += ': ';
    else if (!/^\s/.test(token)) result += token;
  }
  // Brackets without anything between them.
  return result.replaceAll(/([{[])\n\s*\n\s*([}\]])/g, '$1$2');
}
