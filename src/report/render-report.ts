import {
  type Paging,
  type RenderedReport,
  REPORT_START,
  type ReportData,
  type ReportSummary,
} from '../model/report-data.ts';
import { buildQuotaSection, buildRunSection } from './activity-section.ts';
import { drawIcon } from './badge.ts';
import { type ChartSet, onlyCharts } from './chart.ts';
import { drawDocument } from './document.ts';
import { asFile, chooseReload, describeAgeing } from './paging.ts';
import { drawFacts, listFacts } from './facts.ts';
import { buildFindingSection, buildQuarantineSection, buildSchemaSection } from './finding-section.ts';
import { formatMoment } from './format-values.ts';
import { type Health, judgeHealth } from './judge-health.ts';
import { html, type Markup } from './markup.ts';
import { drawLinks, drawSection, type Section } from './section.ts';
import { buildProgressSection } from './progress-section.ts';
import { buildStreamSection } from './stream-section.ts';
import { buildDaySection, buildProfileSection } from './table-section.ts';

/** Renders the report as one HTML file that needs no script and no network. */
export function renderReport(data: ReportData, paging: Paging = asFile): RenderedReport {
  const health = judgeHealth(data);
  const page = drawPage(data, health, paging);
  return { html: REPORT_START + page.text, summary: summarizeReport(data, health) };
}

/** What is shown of one account. */
export function buildSections(
  data: ReportData,
  health: Health,
  charts: ChartSet = onlyCharts,
): readonly Section[] {
  const progress = buildProgressSection(data);
  return [
    ...(progress === undefined ? [] : [progress]),
    buildFindingSection(health),
    buildStreamSection(data, health),
    buildRunSection(data, charts),
    buildQuotaSection(data, charts),
    buildDaySection(data, charts),
    buildSchemaSection(data),
    buildQuarantineSection(data),
    buildProfileSection(data),
  ].map((section) => ({ ...section, id: charts.prefix + section.id }));
}

/** A report in short. */
export function summarizeReport(
  data: ReportData,
  { tone, headline, findings, streams }: Health,
): ReportSummary {
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

function drawPage(data: ReportData, health: Health, paging: Paging): Markup {
  const sections = buildSections(data, health);
  return drawDocument({
    title: paging.account === undefined ? health.headline : `${paging.account}: ${health.headline}`,
    body: html`${drawHeader(data, health, paging)}
      <nav aria-label="Sections">
        <ul>
          ${drawLinks(sections)}
        </ul>
      </nav>
      <main>${sections.map((section) => drawSection(section))}</main>
      ${drawFooter(data, paging)}`,
    ...chooseReload(paging, data.underWay !== undefined),
  });
}

function drawHeader(data: ReportData, health: Health, { account }: Paging): Markup {
  const { source, madeAt } = data;
  return html`<header>
    <p class="eyebrow">
      ${account !== undefined && html`<a href="../">All accounts</a> <span aria-hidden="true">·</span> ${account} <span aria-hidden="true">·</span>`}
      Sluice report <span aria-hidden="true">·</span> ${source.connector} at <bdi>${source.baseUrl}</bdi>
    </p>
    <h1>${drawIcon(health.tone)} ${health.headline}</h1>
    <p class="when">As of <time datetime="${madeAt}">${formatMoment(madeAt)}</time></p>
    ${drawFacts(listFacts(data, health))}
  </header>`;
}

function drawFooter({ version, published, leftOut, madeAt }: ReportData, paging: Paging): Markup {
  return html`<footer>
    ${drawLeftOut(leftOut, 2)}
    <p>
      Made by Sluice ${version} at
      ${formatMoment(madeAt)}${published !== undefined && html` from <bdi>${published.path}</bdi>, published ${formatMoment(published.modifiedAt)}`}.
      All times are UTC. Ages are those at that moment: ${describeAgeing(paging)}.
    </p>
  </footer>`;
}

/** What was too much to show, with a heading of this level. */
export function drawLeftOut(leftOut: readonly string[], level: 2 | 3): Markup | false {
  if (leftOut.length === 0) return false;
  return html`<h${level}>What was left out</h${level}>
        <ul>
          ${leftOut.slice(0, 50).map((text) => html`<li><bdi>${text}</bdi></li>`)}
        </ul>
        ${leftOut.length > 50 && html`<p>And ${leftOut.length - 50} more.</p>`}`;
}
