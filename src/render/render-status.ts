import { describeRestore, describeUnknownRestore } from '../text/describe-restore.ts';
import { describeAge } from '../text/duration.ts';
import type { PublishedFault, StatusReport, StreamStatusRow } from '../model/reports.ts';
import { isUnfinished } from '../model/run-report.ts';
import { nameScan } from '../model/stream.ts';
import { describeStanding, isDue, MOST_NAMES, PUBLISHER, type Publishing } from './describe-standing.ts';
import { describeUnsettled } from './describe-unsettled.ts';
import { describeRefusal, summarizeRefusal } from './describe-refusal.ts';
import { describeQuota, describeUnderWay, summarizeRun } from './describe-run.ts';
import { countScans, formatCount, formatCountOf, verbOf } from '../text/format-count.ts';
import { formatBytes } from '../text/format-bytes.ts';
import { formatMoment } from '../text/format-moment.ts';
import type { ReportOptions } from './render-sync.ts';
import { toSafeBlock, toSafeLine } from './safe-text.ts';
import { drawFittingTable } from './fitting-table.ts';
import { wrapText } from './wrap-text.ts';

/** Freshness and completeness of each stream for people. */
export function renderStatus(report: StatusReport, { nowMs, columns }: ReportOptions): string {
  const table = drawFittingTable(
    [
      { title: 'STREAM' },
      { title: 'VERDICT' },
      { title: 'ROWS', align: 'right' },
      { title: 'WATERMARK' },
      { title: 'VERIFIED' },
      { title: 'KEY', dropAt: 1 },
    ],
    report.streams.map((row) => [
      toSafeLine(nameScan(row.stream, row.slice)),
      describeVerdict(row),
      describeRows(row),
      describeWatermark(row),
      describeVerified(row, nowMs),
      describeKey(row),
    ]),
    columns,
  );
  const lines = [
    describePublished(report),
    ...describeElsewhere(report),
    tellRestore(report),
    describeLastRun(report),
    describeUnderWay(report.underWay, nowMs),
    describeLeft(report, nowMs),
    describeQuarantine(report),
  ];
  const prose = [
    describeFaults(report.faults),
    describeLosses(report),
    describeRefusal(report.refused),
    describeUnsettled(report),
    ...describeStanding(report.streams, findPublishing(report)),
    lines.filter((line) => line !== '').join('\n'),
  ];
  return [table, ...prose.map((text) => wrapText(text, columns))]
    .filter((block) => block !== '')
    .join('\n\n');
}

function findPublishing({ lastRun, refused }: StatusReport): Publishing {
  if (lastRun?.status === 'running') return 'under way';
  return refused === undefined ? 'next' : 'refused';
}

function describeLastRun({ lastRun, refused, published, unreadable }: StatusReport): string {
  if (unreadable !== undefined)
    return `Last: not known, because this user cannot read the state folder: ${toSafeLine(unreadable)}`;
  if (lastRun === undefined) {
    // The file may come from elsewhere, or the state folder may be new; the file itself lists its runs.
    return published === undefined
      ? refused === undefined
        ? 'No run yet.'
        : 'No sync is on record yet.'
      : 'Last: not recorded in the state folder; see: sluice runs';
  }
  const { status } = lastRun;
  const started = formatMoment(lastRun.startedAt);
  if (status === 'running') return `Under way: run ${lastRun.runId}, since ${started}.`;
  if (status === 'killed') {
    return `Last: run ${lastRun.runId}, started ${started}, did not record its end: it was killed, or its disk was full. The next sync continues from what it kept.`;
  }
  return `Last: ${summarizeRun(lastRun)}; ${formatMoment(lastRun.finishedAt)}.`;
}

// Others may have used the quota since, so this may not be what is left now.
function describeLeft({ quota, lastRun, unreadable }: StatusReport, nowMs: number): string {
  if (unreadable !== undefined) return '';
  if (quota === undefined) return 'Quota: not known before the first request.';
  const left = describeQuota(quota, nowMs);
  if (left === '') return 'Quota: not known since the last window ended.';
  const isOver = lastRun !== undefined && !isUnfinished(lastRun.status);
  return `${isOver ? 'Quota when that run ended' : 'Quota when last seen'}: ${left}.`;
}

/** Published files that changed after publishing: the counts above may be wrong, and readers may fail. */
/** Each fault, and what to do about it. */
export function describeFaults(faults: readonly PublishedFault[] = []): string {
  return faults.map(({ detail, fix }) => `${toSafeLine(detail)}\n  next: ${toSafeLine(fix)}`).join('\n');
}

/** Files of the lake that changed after publishing: the counts above are not what was verified. */
function describeLosses({ losses = [] }: StatusReport): string {
  if (losses.length === 0) return '';
  const more = losses.length - MOST_NAMES;
  return [
    ...losses.slice(0, MOST_NAMES).map((loss) => `the lake is incomplete: ${toSafeLine(loss)}`),
    ...(more > 0 ? [`and ${formatCountOf(more, 'more table')}`] : []),
    '  next: sluice verify says how to repair it; until then readers miss rows',
  ].join('\n');
}

/** One sentence about the status. */
export function summarizeStatus({
  streams,
  published,
  unpublished,
  lastRun,
  refused,
  losses,
  faults,
}: StatusReport): string {
  const ending = summarizeRefusal(refused);
  const more = ending === '' ? [] : [ending];
  if (published === undefined && unpublished === undefined)
    return ['nothing is published yet', ...more].join(', ');
  const verified = streams.filter(
    (row) =>
      row.isDamaged !== true && row.unsettled === undefined && row.verdict === 'verified' && !isDue(row),
  ).length;
  const due = streams.filter(isDue).length;
  const fresh = streams.filter((row) => row.fresh).length;
  const stale = streams.filter((row) => row.newest?.stale === true).length;
  const count = (status: string) => streams.filter((row) => row.unsettled?.status === status).length;
  const [failed, stopped] = [count('failed'), count('stopped')];
  return [
    ...(unpublished === undefined ? [] : ['nothing is published']),
    `${verified} of ${countScans(streams)} verified, ${fresh} fresh`,
    ...(faults === undefined ? [] : ['a published file was changed after publishing']),
    ...(losses === undefined ? [] : ['the lake is incomplete']),
    ...(due > 0 ? [`${due} ${verbOf(due, 'differs', 'differ')}`] : []),
    ...(stale > 0 ? [`${stale} stale`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(stopped > 0 ? [`${stopped} stopped`] : []),
    ...(failed + stopped === 0 && lastRun?.error !== undefined ? ['the last run failed'] : []),
    ...more,
  ].join(', ');
}

function describeQuarantine({ quarantined, streams }: StatusReport): string {
  if (quarantined === 0) return '';
  const names = streams.filter((row) => row.quarantined > 0).map((row) => nameScan(row.stream, row.slice));
  const more = names.length - MOST_NAMES;
  const of = [...names.slice(0, MOST_NAMES).map(toSafeLine), ...(more > 0 ? [`${more} more`] : [])];
  const where = of.length === 0 ? '' : ` (${of.join(', ')})`;
  return `Quarantine: ${formatCountOf(quarantined, 'record')}${where}; see: sluice quarantine list`;
}

function describePublished(report: StatusReport): string {
  const { published, unpublished, duckdbPath, lastRun } = report;
  const path = toSafeLine(duckdbPath);
  if (unpublished !== undefined)
    return `Nothing is published at ${path}: ${PUBLISHER[findPublishing(report)]} publishes there what ${toSafeLine(unpublished)} holds.`;
  if (report.hasArchive === true)
    return `Nothing is published at ${path}, and there is no state. To load what the archive has, without a request: sluice rebuild. To read everything from the API: sluice sync`;
  if (published === undefined) {
    return `Nothing is published at ${path} yet; ${lastRun?.status === 'running' ? 'the current run publishes when it waits for the quota, or ends.' : 'run: sluice sync'}`;
  }
  return `Published: ${path} (${formatBytes(published.bytes)}), ${formatMoment(published.modifiedAt)}.`;
}

function describeElsewhere({ elsewhere = [] }: StatusReport): readonly string[] {
  return elsewhere.map(({ destination, publishedAt }) => {
    const name = toSafeLine(destination);
    return publishedAt === undefined
      ? `Nothing was published to ${name} by a run on record.`
      : `Published: ${name}, ${formatMoment(publishedAt)}.`;
  });
}

function tellRestore({ restoresFrom, restoreUnknown }: StatusReport): string {
  if (restoresFrom !== undefined) return describeRestore(toSafeLine(restoresFrom));
  if (restoreUnknown === undefined) return '';
  const { message, hint } = restoreUnknown;
  return toSafeBlock(`${describeUnknownRestore(message)}\n  next: ${hint}`);
}

function describeVerdict(row: StreamStatusRow): string {
  if (row.isDamaged === true) return 'damaged';
  const verdict = row.unsettled?.status ?? row.verdict ?? describeNoVerdict(row);
  return verdict === 'verified' && isDue(row) ? 'differs' : verdict;
}

function describeNoVerdict({ isUnpublished, isReset, isUnavailable }: StreamStatusRow): string {
  if (isUnpublished === true) return 'committed';
  if (isUnavailable === true) return 'unavailable';
  return isReset === true ? 'reset' : 'never';
}

function describeRows({ rows, counts }: StreamStatusRow): string {
  const differs = counts?.inApi !== undefined && counts.difference !== 0;
  return differs ? `${formatCount(rows)} of ${formatCount(counts.inApi)}` : formatCount(rows);
}

function describeWatermark({ watermark, newest }: StreamStatusRow): string {
  if (watermark === undefined) return '-';
  return newest?.stale === true ? `${watermark}, stale` : watermark;
}

function describeVerified({ verifiedAt, fresh }: StreamStatusRow, nowMs: number): string {
  if (verifiedAt === undefined) return '-';
  const age = describeAge(nowMs - Date.parse(verifiedAt));
  return fresh ? `${age}, fresh` : age;
}

function describeKey({ keyColumns, keyState }: StreamStatusRow): string {
  if (keyColumns === undefined) return '-';
  const state = keyState === undefined ? '' : ` (${keyState})`;
  return `${keyColumns.map(toSafeLine).join(', ')}${state}`;
}
