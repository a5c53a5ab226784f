import { LONG_AGO } from '../model/dates.ts';
import { capitalize, describePlace } from './format-values.ts';
import type { StateChange, StateChangeReport, StateReport } from '../model/state-report.ts';
import { type Checkpoint, nameScan } from '../model/stream.ts';
import { drawFittingTable } from './fitting-table.ts';
import { formatCountOf } from '../text/format-count.ts';
import { formatMoment } from '../text/format-moment.ts';
import { toSafeLine } from './safe-text.ts';
import { wrapText } from './wrap-text.ts';

/** What scans reached, for people. */
export function renderState(report: StateReport, columns: number | undefined): string {
  const { checkpoints } = report.state;
  if (checkpoints.length === 0) return wrapText(`${capitalize(summarizeState(report))}.`, columns);
  const table = drawFittingTable(
    [
      { title: 'STREAM' },
      { title: 'WATERMARK' },
      { title: 'VERDICT' },
      { title: 'LAST FULL SCAN' },
      { title: 'CURSOR', dropAt: 2 },
      { title: 'KEY', dropAt: 3 },
      { title: 'RUN', dropAt: 1 },
    ],
    checkpoints.map(describeRow),
    columns,
  );
  return `${table}\n\n${wrapText(`${capitalize(summarizeState(report))}.`, columns)}`;
}

/** One sentence about a state. */
export function summarizeState({ state, source, isInUse, path }: StateReport): string {
  if (source === 'nothing')
    return isInUse
      ? 'a run has the work file open, and nothing is published yet'
      : 'there is no state yet: nothing has been synced';
  const count = formatCountOf(state.checkpoints.length, 'checkpoint');
  const late =
    source === 'published file'
      ? `, which may be missing the last commit because ${isInUse ? 'a run has the work file open' : 'the state folder has no work file'}`
      : '';
  return `${count} in ${toSafeLine(path)}${late}`;
}

/** What is about to change, one line per stream. */
export function describeChanges(changes: readonly StateChange[]): readonly string[] {
  return changes.map(({ stream, slice, what, watermarkBefore, watermarkAfter, rowsDropped }) => {
    const name = toSafeLine(nameScan(stream, slice));
    const dropped =
      rowsDropped === undefined
        ? ''
        : `; drops ${slice === '' ? 'its table' : `the table of ${toSafeLine(stream)}`} with ${formatCountOf(rowsDropped, 'row')}`;
    if (what === 'forgotten')
      return `${name}: forgets its checkpoint${watermarkBefore === undefined ? '' : ` (${watermarkBefore})`}${dropped}`;
    if (watermarkBefore === watermarkAfter) return `${name}: a different checkpoint with the same watermark`;
    return `${name}: watermark ${watermarkBefore ?? 'none'} becomes ${watermarkAfter ?? 'none'}`;
  });
}

/** A change that was made, or was not confirmed. */
export function renderStateChange(report: StateChangeReport, columns: number | undefined): string {
  const { changes, warnings, published } = report;
  return wrapText(
    [
      ...describeChanges(changes),
      ...warnings.map((warning) => `warning: ${toSafeLine(warning)}`),
      `${capitalize(summarizeStateChange(report))}.${describePlace(published)}`,
    ].join('\n'),
    columns,
  );
}

/** One sentence about a change. */
export function summarizeStateChange({ changes, cancelled }: StateChangeReport): string {
  if (changes.length === 0) return 'there was nothing to change';
  if (cancelled) return 'nothing was changed';
  return `${formatCountOf(changes.length, 'checkpoint')} changed`;
}

function describeRow(checkpoint: Checkpoint): readonly string[] {
  const {
    stream,
    slice,
    watermark,
    lastVerdict,
    lastFullScanAt,
    cursorField,
    cursorState,
    keyFields,
    runId,
  } = checkpoint;
  const cursor =
    cursorField === undefined ? '-' : `${cursorField}${cursorState === undefined ? '' : ` (${cursorState})`}`;
  return [
    toSafeLine(nameScan(stream, slice)),
    watermark ?? '-',
    lastVerdict ?? '-',
    describeScanTime(lastFullScanAt),
    toSafeLine(cursor),
    keyFields === undefined ? '-' : keyFields.map(toSafeLine).join(', '),
    toSafeLine(runId),
  ];
}

function describeScanTime(time: string | undefined): string {
  if (time === undefined) return '-';
  return time === LONG_AGO ? 'unknown' : formatMoment(time);
}
