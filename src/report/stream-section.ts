import type { ReportData } from '../model/report-data.ts';
import { drawBadge } from './badge.ts';
import { formatCount } from '../text/format-count.ts';
import { formatAge, formatDay, formatShortMoment } from './format-values.ts';
import type { Health } from './judge-health.ts';
import { cutText, html, type Markup, nameText } from './markup.ts';
import { drawRunStrip, drawStripLegend, STRIP_RUNS } from './run-strip.ts';
import { type Column, drawEmpty, drawTable, type Section } from './section.ts';
import { describeState, type JudgedStream, type StreamState } from './stream-state.ts';

/** More than these wait to be asked for: the worst come first. */
const SHOWN_STREAMS = 60;

/** How each stream stands. */
export function buildStreamSection(data: ReportData, health: Health): Section {
  const sorted = sortByTone(health.streams);
  const columns = listColumns(data);
  const rest = sorted.slice(SHOWN_STREAMS);
  const body = html`${sorted.length === 0 && drawEmpty('The config has no stream.')}
  ${sorted.length > 0 && drawTable('How each stream stands', columns, sorted.slice(0, SHOWN_STREAMS))}
  ${
    rest.length > 0 &&
    html`<details class="more">
      <summary>${formatCount(rest.length)} more</summary>
      ${drawTable('More streams', columns, rest)}
    </details>`
  }
  ${data.runs.length > 0 && drawStripLegend(data.streams.map(({ attempts }) => attempts))}
  ${drawStates(health)}`;
  return { id: 'streams', heading: 'Streams', body };
}

/** The worst first, else as in the config. */
function sortByTone(streams: readonly JudgedStream[]): readonly JudgedStream[] {
  const order = ['bad', 'note', 'good', 'idle'];
  return streams.toSorted((a, b) => order.indexOf(a.tone) - order.indexOf(b.tone));
}

function listColumns({ runs, madeAt }: ReportData): readonly Column<JudgedStream>[] {
  const count = Math.min(STRIP_RUNS, runs.length);
  return [
    { head: 'Stream', cell: ({ name }) => nameText(name) },
    { head: 'State', cell: ({ state, tone }) => drawBadge(tone, state) },
    {
      head: count < 2 ? 'Last run' : `Last ${count} runs`,
      cell: ({ facts }) => drawRunStrip(facts.attempts, runs),
    },
    {
      head: 'Rows',
      isNumber: true,
      cell: ({ facts: { rows, counts } }) =>
        rows === undefined
          ? '–'
          : html`${formatCount(rows)}
            ${counts?.inApi !== undefined && html`<span class="aside">API: ${formatCount(counts.inApi)}</span>`}
            ${
              counts?.uncountedAt !== undefined &&
              html`<span class="aside">counted ${formatShortMoment(counts.at)}</span>`
            }`,
    },
    {
      head: 'Data up to',
      cell: ({ facts: { watermark, newest } }) =>
        watermark === undefined
          ? '–'
          : html`<time>${cutText(watermark, 24)}</time>
              ${newest !== undefined && html`<span class="aside">since ${formatShortMoment(newest.since)}</span>`}`,
    },
    {
      head: 'Last verified',
      cell: ({ facts: { verifiedAt, wholeAt, provedFrom } }) =>
        verifiedAt === undefined
          ? 'never'
          : html`<time datetime="${verifiedAt}">${formatShortMoment(verifiedAt)}</time>
              <span class="aside">${formatAge(verifiedAt, madeAt)}</span>
              <span class="aside">${describeScope(wholeAt, provedFrom)}</span>`,
    },
    { head: 'Key', cell: ({ facts }) => describeKey(facts.keyColumns, facts.keyState) },
  ];
}

/** What was proved when: a full scan proves the whole table, an incremental one the days that it read. */
function describeScope(wholeAt: string | undefined, provedFrom: string | undefined): string {
  const whole = wholeAt === undefined ? 'never as a whole' : `whole on ${formatDay(wholeAt)}`;
  return provedFrom === undefined ? whole : `${whole}, since then from ${formatDay(provedFrom)}`;
}

function describeKey(columns: readonly string[] | undefined, state: string | undefined): Markup | string {
  if (columns === undefined || columns.length === 0) return 'none';
  const learned = state === 'provisional' ? html` <span class="aside">not proved yet</span>` : undefined;
  return html`<code>${cutText(columns.join(', '), 80)}</code>${learned}`;
}

function drawStates({ streams, lateAfterMs }: Health): Markup | false {
  const used = [...new Set(streams.map(({ state }) => state))];
  if (used.length === 0) return false;
  return html`<dl class="words">
    ${used.map((state: StreamState) => {
      const tone = streams.find((stream) => stream.state === state)?.tone ?? 'idle';
      return html`<div>
        <dt>${drawBadge(tone, state)}</dt>
        <dd>${describeState(state, lateAfterMs)}</dd>
      </div>`;
    })}
  </dl>`;
}
