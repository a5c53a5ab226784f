import type { ComparedRow, ComparedStream, ComparisonReport, VerifyReport } from '../model/reports.ts';
import { capitalize } from './format-values.ts';
import { nameScan } from '../model/stream.ts';
import type { Screen } from './screen.ts';
import { describeQuota } from './describe-run.ts';
import { drawFittingTable } from './fitting-table.ts';
import { countScans, formatCount, formatCountOf } from '../text/format-count.ts';
import { describeEnd, withoutName } from '../text/name-once.ts';
import { renderItems } from './render-check.ts';
import { toSafeBlock, toSafeLine } from './safe-text.ts';
import { wrapText } from './wrap-text.ts';

/** What to do about rows that differ. */
export const AFTER_DIFFERENCE =
  'the API may have changed since the last sync. Run sluice sync --force and verify again; if rows still differ, run sluice sync --full-refresh.';

/** The result of `verify` for people. */
export function renderVerify(report: VerifyReport, screen: Screen, nowMs: number): string {
  const { comparison } = report;
  const columns = screen.columns();
  const summary = `${capitalize(summarizeVerify(report))}.`;
  const differs = comparison?.streams.some((stream) => stream.differs) === true;
  return [
    renderItems(report.items, screen),
    ...(comparison === undefined ? [] : [renderComparison(comparison, columns)]),
    wrapText([summary, describeCost(comparison, nowMs)].filter((text) => text !== '').join(' '), columns),
    ...(differs ? [wrapText(`next: ${AFTER_DIFFERENCE}`, columns)] : []),
  ].join('\n\n');
}

/** One sentence about a verification. */
export function summarizeVerify({ items, comparison }: VerifyReport): string {
  const count = (status: string) => items.filter((item) => item.status === status).length;
  const [failed, skipped, warnings] = [count('failed'), count('skipped'), count('warning')];
  const isEmpty = skipped > 0 && skipped === items.length;
  const asides = [
    skipped === 0 || isEmpty ? '' : `${formatCount(skipped)} could not be checked`,
    warnings === 0 ? '' : formatCountOf(warnings, 'warning'),
  ].filter((part) => part !== '');
  const fine = isEmpty ? 'nothing could be checked' : 'the files agree';
  const offline = failed === 0 ? fine : `${formatCountOf(failed, 'item')} failed`;
  const whole = [offline, ...asides].join(', ');
  return comparison === undefined ? whole : `${whole}; ${summarizeComparison(comparison)}`;
}

function summarizeComparison({ streams }: ComparisonReport): string {
  const different = streams.filter(({ differs }) => differs);
  const failed = streams.filter(({ error }) => error !== undefined);
  const sampled = streams.filter(({ extent }) => extent === 'sampled').length;
  const compared = streams.filter(({ error }) => error === undefined);
  const aside = failed.length === 0 ? '' : `, ${countScans(failed)} could not be compared`;
  if (different.length > 0)
    return `${formatCount(different.length)} of ${countScans(compared)} ${different.length === 1 ? 'differs' : 'differ'} from the API${aside}`;
  if (compared.length === 0) return 'nothing could be compared with the API';
  const how = sampled === 0 ? 'what the API has' : 'what was sampled of the API';
  return `${countScans(compared)} ${compared.length === 1 ? 'holds' : 'hold'} ${how}${aside}`;
}

function renderComparison({ streams }: ComparisonReport, columns: number | undefined): string {
  const table = drawFittingTable(
    [
      { title: 'STREAM' },
      { title: 'COMPARED' },
      { title: 'MISSING', align: 'right' },
      { title: 'EXTRA', align: 'right' },
      { title: 'DIFFERING', align: 'right' },
    ],
    streams.map(describeRow),
    columns,
  );
  const below = streams.flatMap(describeDetails);
  return [table, ...(below.length === 0 ? [] : [wrapText(below.join('\n'), columns)])].join('\n\n');
}

function describeRow(stream: ComparedStream): readonly string[] {
  const { extent, rowsCompared, rowsDeclared, missing, extra, differing } = stream;
  const name = toSafeLine(nameScan(stream.stream, stream.slice));
  if (extent === 'none') return [name, '-', '-', '-', '-'];
  const compared =
    extent === 'exact'
      ? `all ${formatCountOf(rowsCompared, 'row')}`
      : `${formatCount(rowsCompared)} of ${rowsDeclared === undefined ? '- rows' : formatCountOf(rowsDeclared, 'row')}${describeShare(stream)}`;
  return [name, compared, formatCount(missing), formatCount(extra), formatCount(differing)];
}

function describeShare({ rowsCompared, rowsDeclared }: ComparedStream): string {
  if (rowsDeclared === undefined || rowsDeclared === 0) return '';
  return ` (${Math.min(100, Math.round((rowsCompared / rowsDeclared) * 1_000) / 10)} %)`;
}

function describeDetails(stream: ComparedStream): readonly string[] {
  const { examples, notes, error } = stream;
  const name = toSafeLine(nameScan(stream.stream, stream.slice));
  const failure =
    error === undefined
      ? []
      : [
          describeEnd(
            name,
            'failed',
            `${toSafeBlock(withoutName(error.message, name))}\n  next: ${toSafeBlock(error.hint)}`,
          ),
        ];
  return [
    ...notes.map((note) => `${name}: ${toSafeLine(note)}`),
    ...examples.map((example) => `${name}: ${describeExample(example)}`),
    ...failure,
  ];
}

function describeExample({ what, row, values }: ComparedRow): string {
  if (what === 'missing') return `missing here: ${toSafeLine(row)}`;
  if (what === 'extra') return `not in the API: ${toSafeLine(row)}`;
  return `differs: ${toSafeLine(row)}, [API, here] ${toSafeLine(values ?? '')}`;
}

function describeCost(comparison: ComparisonReport | undefined, nowMs: number): string {
  if (comparison === undefined) return '';
  const quota = describeQuota(comparison.quota, nowMs);
  const spent = formatCountOf(comparison.requestsSpent, 'request');
  return `${spent} used${quota === '' ? '' : `; ${quota}`}.`;
}
