import { max } from 'd3-array';
import type { ColumnProfile, DayFacts, ReportData, TableFacts } from '../model/report-data.ts';
import { describeDays, drawDayChart } from './day-chart.ts';
import { type ChartSet, round } from './chart.ts';
import { formatCount, formatCountOf } from '../text/format-count.ts';
import { formatShare } from './format-values.ts';
import { cutText, html, Markup, nameText } from './markup.ts';
import { drawEmpty, drawTable, type Section } from './section.ts';

/** Charts that stand open; the others wait to be asked for. */
const OPEN_CHARTS = 12;

/** Rows by day of each table. */
export function buildDaySection({ tables }: ReportData, { prefix, hasNumbers }: ChartSet): Section {
  const draw = (title: string, days: DayFacts, at: number) =>
    drawDayChart({ id: `${prefix}day${at}`, title, hasNumbers }, days);
  const charts = tables.map(({ stream, days }, at) =>
    days === undefined
      ? html`<div class="chart">
          <p class="chart-title">${nameText(stream)}</p>
          ${drawEmpty('No rows with a date.')}
        </div>`
      : html`<div>${draw(stream, days, at)}${describeUnshown(days)}</div>`,
  );
  const rest = charts.slice(OPEN_CHARTS);
  const body = html`${charts.length === 0 && drawEmpty('No table yet.')}
    <div class="multiples">${charts.slice(0, OPEN_CHARTS)}</div>
    ${
      rest.length > 0 &&
      html`<details class="more">
        <summary>${formatCount(rest.length)} more</summary>
        <div class="multiples">${rest}</div>
      </details>`
    }`;
  return { id: 'days', heading: 'Rows per day', body };
}

function describeUnshown(days: NonNullable<TableFacts['days']>): Markup | false {
  if (days.earlier + days.later + days.dateless === 0) return false;
  const [, ...told] = describeDays(days).split(/(?<=\.) (?=\d)/);
  return html`<p class="remark">${told.filter((text) => !text.includes('without rows')).join(' ')}</p>`;
}

/** What the columns of each table hold. */
export function buildProfileSection({ tables, showsValues }: ReportData): Section {
  const profiles = tables.map((table) => drawProfile(table, tables.length === 1));
  const hint = showsValues
    ? 'Figures of the rows as they are now. Values are shown where a column has few different ones, or a range.'
    : 'Figures of the rows as they are now. Values were left out of this report.';
  const body = html`${profiles.length === 0 && drawEmpty('No table yet.')}
  ${profiles.length > 0 && html`<p class="remark">${hint}</p>`} ${profiles}`;
  return { id: 'columns', heading: 'Columns', body };
}

function drawProfile({ stream, rows, profile }: TableFacts, isOnly: boolean): Markup {
  const columns = profile?.columns ?? [];
  const seen = profile?.rowsSeen ?? 0;
  const sampled = profile?.isSample === true ? `, by a sample of ${formatCount(seen)}` : '';
  const size = `${formatCountOf(rows, 'row')}${sampled}, ${formatCountOf(columns.length, 'column')}`;
  const body =
    profile === undefined || columns.length === 0
      ? drawEmpty('Its columns are not shown.')
      : rows === 0
        ? drawEmpty(`No rows. Columns: ${columns.map(({ name }) => cutText(name, 60)).join(', ')}.`)
        : drawTable(
            'What each column holds',
            [
              { head: 'Column', cell: ({ name }) => html`<code>${nameText(name, 60)}</code>` },
              { head: 'Type', cell: ({ type }) => (type === 'NULL' ? 'no value yet' : type) },
              { head: 'Empty', cell: ({ nulls }) => drawShare(nulls, seen) },
              { head: 'Different', isNumber: true, cell: describeDistinct },
              { head: 'Values', cell: (column) => drawValues(column, seen) },
            ],
            columns,
          );
  return html`<details class="table" ${isOnly && html` open`}>
    <summary>${nameText(stream)} <span class="aside">${size}</span></summary>
    ${body}
  </details> `;
}

function drawShare(nulls: number, rows: number): Markup {
  const share = rows === 0 ? 0 : (nulls / rows) * 100;
  return html`<span class="share"
    ><svg class="meter" width="48" height="8" aria-hidden="true">
      <rect class="track" width="48" height="8" rx="2" />
      ${share > 0 && html`<rect class="rest" width="${Math.max(1, round(share * 0.48))}" height="8" rx="2" />`}
    </svg>
    ${formatShare(nulls, rows)}</span
  >`;
}

function describeDistinct({ distinct, isDistinctExact }: ColumnProfile): string {
  return isDistinctExact ? formatCount(distinct) : `about ${formatCount(distinct)}`;
}

function drawValues({ values, hidden }: ColumnProfile, rows: number): Markup | string {
  if (hidden === 'masked') return html`<span class="aside">personal data, not shown</span>`;
  if (hidden === 'asked') return html`<span class="aside">left out</span>`;
  if (values === undefined) return '–';
  switch (values.kind) {
    case 'few':
      return html`<ul class="top">
        ${values.top.map(
          ({ value, rows: count }) =>
            html`<li>
              <bdi class="value">${cutText(value, 60)}</bdi>
              <span class="aside">${formatShare(count, rows)}</span>
            </li>`,
        )}${values.others > 0 && html`<li class="aside">others ${formatShare(values.others, rows)}</li>`}
      </ul>`;
    case 'range':
      return html`<span class="range"
        ><bdi class="value">${values.min}</bdi>${drawHistogram(values.bins)}<bdi class="value"
          >${values.max}</bdi
        ></span
      >`;
    case 'text':
      return values.shortest === values.longest
        ? `text, ${formatCountOf(values.longest, 'character')}`
        : `text, ${formatCount(values.shortest)} to ${formatCountOf(values.longest, 'character')}`;
  }
}

const BIN_WIDTH = 6;
const BIN_HEIGHT = 20;

function drawHistogram(bins: readonly number[]): Markup {
  if (bins.length === 0) return html`<span class="aside"> to </span>`;
  const most = max(bins) ?? 1;
  const width = bins.length * BIN_WIDTH;
  const path = bins.map((count, at) => {
    const height = count === 0 ? 0 : Math.max(1, round((count / most) * BIN_HEIGHT));
    return height === 0 ? '' : `M${at * BIN_WIDTH} ${BIN_HEIGHT}v-${height}h${BIN_WIDTH - 1}v${height}z`;
  });
  return html`<svg
    class="histogram"
    width="${width}"
    height="${BIN_HEIGHT}"
    role="img"
    aria-label="Rows in ${bins.length} equal parts of the range: ${bins.map(formatCount).join(' / ')}"
  >
    <path class="first" d="${new Markup(path.join(''))}" />
  </svg>`;
}
