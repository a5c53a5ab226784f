import { nameCause } from '../model/quota.ts';
import type { ReportData } from '../model/report-data.ts';
import type { RunUnderWay, StreamUnderWay } from '../model/run-under-way.ts';
import { formatDuration } from '../text/duration.ts';
import { formatCount, formatCountOf, verbOf } from '../text/format-count.ts';
import { formatShortMoment } from './format-values.ts';
import { html, type Markup, nameText, type Part } from './markup.ts';
import { type Column, drawTable, type Section } from './section.ts';

/** Streams in the table of a run; those at work come first. */
const SHOWN_STREAMS = 30;

/** The run that goes on now: what it waits for, and how far each stream is; undefined if there is none. */
export function buildProgressSection({ underWay, madeAt }: ReportData): Section | undefined {
  if (underWay === undefined) return undefined;
  const order = ['reading', 'loading', 'queued', 'finished'];
  const streams = underWay.streams.toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
  const more = streams.length - SHOWN_STREAMS;
  const body = html`<p>${describeState(underWay, madeAt)}</p>
    ${streams.length > 0 && drawTable('How far the run is', columns, streams.slice(0, SHOWN_STREAMS))}
    ${more > 0 && html`<p class="remark">And ${formatCount(more)} more.</p>`}`;
  return { id: 'progress', heading: 'Run in progress', body };
}

const columns: readonly Column<StreamUnderWay>[] = [
  { head: 'Stream', cell: ({ stream }) => nameText(stream) },
  { head: 'State', cell: ({ state }) => state },
  { head: 'Pages', isNumber: true, cell: ({ pagesDone, pagesPlanned }) => ofAll(pagesDone, pagesPlanned) },
  { head: 'Rows', isNumber: true, cell: ({ rowsDone, rowsDeclared }) => ofAll(rowsDone, rowsDeclared) },
];

function ofAll(done: number, all: number | undefined): Part {
  return all === undefined ? formatCount(done) : `${formatCount(done)} of ${formatCount(all)}`;
}

function describeState({ runId, toldAt, waiting, quota }: RunUnderWay, madeAt: string): Markup {
  const left =
    quota === undefined
      ? ''
      : ` ${formatCount(quota.remaining)} of ${formatCountOf(quota.limit, 'request')} of the quota ${verbOf(quota.remaining, 'is', 'are')} left.`;
  const silentMs = Date.parse(madeAt) - Date.parse(toldAt);
  return html`Run <bdi>${runId}</bdi> is
    ${
      waiting === undefined
        ? 'at work'
        : html`waiting for ${nameCause(waiting.reason)} until
            <time datetime="${waiting.until}">${formatShortMoment(waiting.until)} UTC</time>`
    }.${left} <span class="aside">Last heard of ${formatDuration(Math.max(0, silentMs))} before.</span>`;
}
