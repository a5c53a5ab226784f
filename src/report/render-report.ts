import { sum } from 'd3-array';
import { describeWindow } from '../text/duration.ts';
import {
  type RenderedReport,
  REPORT_START,
  type ReportData,
  type ReportSummary,
} from '../model/report-data.ts';
import { buildQuotaSection, buildRunSection } from './activity-section.ts';
import { badgeShapes, drawIcon } from './badge.ts';
import { buildFindingSection, buildQuarantineSection, buildSchemaSection } from './finding-section.ts';
import { formatCount } from '../text/format-count.ts';
import { formatBytes } from '../text/format-bytes.ts';
import { formatAge, formatMoment } from './format-values.ts';
import { type Health, judgeHealth } from './judge-health.ts';
import { html, Markup, nameText } from './markup.ts';
import { drawSection, type Section } from './section.ts';
import { buildStreamSection } from './stream-section.ts';
import { findLastEnded, type JudgedStream } from './stream-state.ts';
import { styles } from './styles.ts';
import { buildDaySection, buildProfileSection } from './table-section.ts';

// The file asks for nothing: no script, no font, no picture, wherever it is opened.
const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/** Renders the report as one HTML file that needs no script and no network. */
export function renderReport(data: ReportData): RenderedReport {
  const health = judgeHealth(data);
  const sections = [
    buildFindingSection(health),
    buildStreamSection(data, health),
    buildRunSection(data),
    buildQuotaSection(data),
    buildDaySection(data),
    buildSchemaSection(data),
    buildQuarantineSection(data),
    buildProfileSection(data),
  ];
  return { html: REPORT_START + drawDocument(data, health, sections).text, summary: summarize(data, health) };
}

function summarize(data: ReportData, { tone, headline, findings, streams }: Health): ReportSummary {
  return {
    madeAt: data.madeAt,
    tone,
    headline,
    findings,
    streams: streams.map(({ state, facts }) => ({
      stream: facts.stream,
      slice: facts.slice,
      state,
      rows: facts.rows,
      verifiedAt: facts.verifiedAt,
    })),
    runs: data.runs.length,
    tables: data.tables.length,
    quarantined: data.quarantine.total,
    leftOut: data.leftOut,
  };
}

function drawDocument(data: ReportData, health: Health, sections: readonly Section[]): Markup {
  return html`<html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta http-equiv="Content-Security-Policy" content="${new Markup(POLICY)}" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <meta name="referrer" content="no-referrer" />
      <title>${health.headline} – Sluice report</title>
      <link rel="icon" href="data:," />
      <style>
        ${new Markup(styles)}
      </style>
    </head>
    <body>
      ${badgeShapes} ${drawHeader(data, health)}
      <nav aria-label="Sections">
        <ul>
          ${sections.map(({ id, heading }) => html`<li><a href="#${id}">${heading}</a></li>`)}
        </ul>
      </nav>
      <main>${sections.map(drawSection)}</main>
      ${drawFooter(data)}
    </body>
  </html> `;
}

function drawHeader(data: ReportData, health: Health): Markup {
  const { source, madeAt } = data;
  return html`<header>
    <p class="eyebrow">
      Sluice report <span aria-hidden="true">·</span> ${source.connector} at <bdi>${source.baseUrl}</bdi>
    </p>
    <h1>${drawIcon(health.tone)} ${health.headline}</h1>
    <p class="when">As of <time datetime="${madeAt}">${formatMoment(madeAt)}</time></p>
    <dl class="facts">
      ${listFacts(data, health).map(
        ({ name, value, aside }) =>
          html`<div>
            <dt>${name}</dt>
            <dd>${value}${aside !== undefined && html` <span class="aside">${aside}</span>`}</dd>
          </div>`,
      )}
    </dl>
  </header>`;
}

interface Fact {
  readonly name: string;
  readonly value: string;
  readonly aside: Markup | string | undefined;
}

/** The figures that say most, for those who read no further. */
function listFacts(data: ReportData, { streams }: Health): readonly Fact[] {
  const { runs, quota, quarantine, published, madeAt } = data;
  const offered = streams.filter(({ state }) => state !== 'unavailable');
  const good = offered.filter(({ state }) => state === 'verified').length;
  const last = findLastEnded(runs);
  return [
    { name: 'Streams verified', value: `${good} of ${offered.length}`, aside: undefined },
    {
      name: 'Rows',
      value: formatCount(sum(data.streams, ({ rows }) => rows ?? 0)),
      aside: published === undefined ? 'nothing published' : `${formatBytes(published.bytes)} published`,
    },
    describeReach(offered),
    {
      name: 'Last run',
      value: last?.status ?? 'none',
      aside: last === undefined ? undefined : formatAge(last.startedAt, madeAt),
    },
    {
      name: 'Quota left',
      value: quota?.remaining === undefined ? '–' : formatCount(quota.remaining),
      aside:
        quota?.limit === undefined
          ? undefined
          : `of ${formatCount(quota.limit)} requests ${describeWindow(quota.windowMs)}`,
    },
    { name: 'In quarantine', value: formatCount(quarantine.total), aside: undefined },
  ];
}

/** The day that every stream has reached; the newest of them would hide one that stays behind. */
function describeReach(streams: readonly JudgedStream[]): Fact {
  const reached = streams
    .flatMap(({ name, facts: { watermark } }) => (watermark === undefined ? [] : [{ name, watermark }]))
    .toSorted((a, b) => (a.watermark < b.watermark ? -1 : 1));
  const [oldest] = reached;
  const newest = reached.at(-1);
  const beside = reached.filter(({ watermark }) => watermark === oldest?.watermark).length - 1;
  return {
    name: 'Data up to',
    value: oldest?.watermark ?? '–',
    aside:
      oldest === undefined || oldest.watermark === newest?.watermark
        ? undefined
        : html`${nameText(oldest.name, 40)}${beside > 0 && ` and ${beside} more`}; others up to
          ${newest?.watermark}`,
  };
}

function drawFooter({ version, published, leftOut, madeAt }: ReportData): Markup {
  return html`<footer>
    ${
      leftOut.length > 0 &&
      html`<h2>What was left out</h2>
        <ul>
          ${leftOut.slice(0, 50).map((text) => html`<li><bdi>${text}</bdi></li>`)}
        </ul>
        ${leftOut.length > 50 && html`<p>And ${leftOut.length - 50} more.</p>`}`
    }
    <p>
      Made by Sluice ${version} at
      ${formatMoment(madeAt)}${published !== undefined && html` from <bdi>${published.path}</bdi>, published ${formatMoment(published.modifiedAt)}`}.
      All times are UTC. Ages are those at that moment: this file does not change.
    </p>
  </footer>`;
}
