import { groups } from 'd3-array';
import type { ReportData } from '../model/report-data.ts';
import type { RecordedChange } from '../model/schema-report.ts';
import { nameScan } from '../model/stream.ts';
import { drawIcon } from './badge.ts';
import { formatCount, formatCountOf } from '../text/format-count.ts';
import { formatShortMoment } from './format-values.ts';
import type { Health } from './judge-health.ts';
import { cutText, html, type Markup, nameText } from './markup.ts';
import { drawEmpty, drawTable, type Section } from './section.ts';

const words = { bad: 'To do', note: 'To know', good: 'Well', idle: 'For information' } as const;
const MOST_FINDINGS = 30;

/** What to know at once, and what to do. */
export function buildFindingSection({ findings }: Pick<Health, 'findings'>): Section {
  const more = findings.length - MOST_FINDINGS;
  const body =
    findings.length === 0
      ? html`<p class="calm">${drawIcon('good')} Nothing to do.</p>`
      : html`<ul class="findings">
            ${findings.slice(0, MOST_FINDINGS).map(
              ({ tone, what, todo }) =>
                html`<li class="${tone}">
                  ${drawIcon(tone)}
                  <div>
                    <span class="unseen">${words[tone]}: </span>
                    <p><bdi>${cutText(what, 600)}</bdi></p>
                    ${todo !== undefined && html`<p class="todo">${drawCode(todo)}</p>`}
                  </div>
                </li> `,
            )}
          </ul>
          ${more > 0 && html`<p class="remark">${more} more of this kind.</p>`}`;
  return { id: 'findings', heading: 'What to know', body };
}

/** A hint, with what stands between backticks as code. */
function drawCode(text: string): readonly Markup[] {
  const parts = cutText(text, 600).split('`');
  // A lone backtick is one that somebody else wrote.
  if (parts.length % 2 === 0) return [html`${cutText(text, 600)}`];
  return parts.map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));
}

const MOST_CHANGE_ROWS = 30;
const MOST_COLUMNS = 12;

/** How columns changed: what happened to a table in one run is one row. */
export function buildSchemaSection({ schemaChanges }: ReportData): Section {
  const rows = groups(schemaChanges.newest, ({ runId, stream, change, fromType, toType }) =>
    change === 'added' ? `${runId}\n${stream}\nadded` : [runId, stream, change, fromType, toType].join('\n'),
  ).map(([, changes]) => changes);
  const shown = rows.slice(0, MOST_CHANGE_ROWS);
  const isMore = rows.length > shown.length || schemaChanges.total > schemaChanges.newest.length;
  const body = html`${rows.length === 0 && drawEmpty('No column has changed.')}
  ${
    rows.length > 0 &&
    drawTable(
      'The newest changes',
      [
        { head: 'When', cell: ([first]) => html`<time>${formatShortMoment(first?.changedAt ?? '')}</time>` },
        { head: 'Stream', cell: ([first]) => nameText(first?.stream ?? '') },
        { head: 'Change', cell: ([first]) => describeChange(first) },
        { head: 'Columns', cell: drawColumns },
      ],
      shown,
    )
  }
  ${isMore && html`<p class="remark">Older changes are in <code>_sluice.schema_changes</code>; <code>sluice schema diff</code> compares with a run.</p>`}`;
  return { id: 'schema', heading: 'Schema changes', body };
}

function describeChange(change: RecordedChange | undefined): string {
  if (change === undefined) return '';
  const { change: word, fromType, toType } = change;
  if (word === 'added' || word === 'removed') return word;
  return `${word}: ${fromType ?? 'none'} to ${toType ?? 'none'}`;
}

function drawColumns(changes: readonly RecordedChange[]): Markup {
  const more = changes.length - MOST_COLUMNS;
  const names = changes
    .slice(0, MOST_COLUMNS)
    .map(({ column }, at) => html`${at > 0 && ', '}<code>${nameText(column, 60)}</code>`);
  return html`${names}${more > 0 && html` <span class="aside">and ${formatCount(more)} more</span>`}`;
}

/** Why records are in quarantine, with a sample of each. */
export function buildQuarantineSection({ quarantine, showsValues }: ReportData): Section {
  const { total, reasons } = quarantine;
  const told = reasons.reduce((sum, { records }) => sum + records, 0);
  const body = html`${total === 0 && drawEmpty('No record is in quarantine.')}
  ${
    total > 0 &&
    drawTable(
      'Why, the most frequent reasons first',
      [
        {
          head: 'Stream',
          cell: ({ stream, slice }) => nameText(nameScan(stream, slice)),
        },
        { head: 'Records', isNumber: true, cell: ({ records }) => formatCount(records) },
        {
          head: 'Field',
          cell: ({ path }) => (path === '' ? 'the whole record' : html`<code>${nameText(path)}</code>`),
        },
        { head: 'Reason', cell: ({ reason }) => html`<bdi>${cutText(reason, 300)}</bdi>` },
        { head: 'Newest', cell: ({ newestAt }) => html`<time>${formatShortMoment(newestAt)}</time>` },
        {
          head: 'Sample',
          cell: ({ sample, sampleId }) =>
            html`<code class="sample"
                ><bdi>${sample ?? (showsValues ? 'personal data, not shown' : 'left out')}</bdi></code
              ><span class="aside">sluice quarantine show ${sampleId}</span>`,
        },
      ],
      reasons,
    )
  }
  ${total > told && html`<p class="remark">${formatCountOf(total - told, 'more record')} for other reasons: <code>sluice quarantine list</code>.</p>`}`;
  return { id: 'quarantine', heading: 'Quarantine', body };
}
