import { sum } from 'd3-array';
import {
  type AccountReportData,
  type AccountsReportData,
  type Paging,
  type RenderedAccountsReport,
  type ReportData,
  REPORT_START,
} from '../model/report-data.ts';
import type { ReportedError } from '../model/run-report.ts';
import { formatBytes } from '../text/format-bytes.ts';
import { formatCount } from '../text/format-count.ts';
import { nameAccountsDeep } from '../text/name-accounts.ts';
import { accountStyles } from './styles.ts';
import { drawBadge, drawIcon } from './badge.ts';
import type { ChartSet } from './chart.ts';
import { drawDocument } from './document.ts';
import { asFile, chooseReload, describeAgeing } from './paging.ts';
import { buildFindingSection } from './finding-section.ts';
import { drawFacts, type Fact, listFacts } from './facts.ts';
import { formatAge, formatMoment } from './format-values.ts';
import {
  type AccountHealth,
  describeAccounts,
  judgeAccount,
  sortAccounts,
  unreadableHealth,
} from './judge-account.ts';
import { type Health, judgeHealth } from './judge-health.ts';
import { cutText, html, type Markup, type Part } from './markup.ts';
import { buildSections, drawLeftOut, summarizeReport } from './render-report.ts';
import { drawLinks, drawSection, drawTable } from './section.ts';
import { type Finding, findLastEnded, type Tone } from './stream-state.ts';

/** An account with what its page says. */
type JudgedAccount = { readonly account: string; readonly health: AccountHealth } & (
  | { readonly data: ReportData; readonly page: Health; readonly error?: undefined }
  | { readonly data?: undefined; readonly page?: undefined; readonly error: ReportedError }
);

/** Renders several accounts as one HTML file: a line each, the worst first, and then the page of each. */
export function renderAccountsReport(
  all: AccountsReportData,
  paging: Paging = asFile,
): RenderedAccountsReport {
  const accounts = sortAccounts(all.accounts.map((one) => judge(one, all.madeAt)));
  const healths = accounts.map(({ health }) => health);
  const { faults = [] } = all;
  const findings = faults.map(({ detail, fix }): Finding => ({ tone: 'bad', what: `${detail}.`, todo: fix }));
  const headline =
    describeAccounts(healths) + (faults.length > 0 ? '; the file with all of them has a problem' : '');
  const tones = [...healths, ...findings].map(({ tone: one }) => one);
  const tone = (['bad', 'note', 'good'] as const).find((one) => tones.includes(one));
  const told = { headline, tone: tone ?? 'idle', madeAt: all.madeAt } as const;
  const body = html`${drawHeader(accounts, told)}
    <main>
      ${findings.length > 0 && drawSection(buildFindingSection({ findings }))}
      ${drawSection({ id: 'accounts', heading: 'Accounts', body: drawOverview(accounts, all.madeAt, paging) })}
      ${!paging.isLive && accounts.map((one, at) => drawAccount(one, `a${at}-`, accounts.length === 1))}
    </main>
    <footer>
      <p>
        Made by Sluice ${all.version} at ${formatMoment(all.madeAt)}. All times are UTC. Ages are those at
        that moment: ${describeAgeing(paging)}.
      </p>
    </footer>`;
  const isAtWork = accounts.some(({ data }) => data?.underWay !== undefined);
  const page = drawDocument({
    title: headline,
    body,
    more: accountStyles,
    ...chooseReload(paging, isAtWork),
  });
  return {
    html: REPORT_START + page.text,
    summary: { ...told, accounts: accounts.map(summarize), ...(faults.length > 0 && { faults }) },
  };
}

function judge(one: AccountReportData, madeAt: string): JudgedAccount {
  if (one.data === undefined) return { ...nameAccountsDeep(one, [one.account]), health: unreadableHealth };
  const { account, data } = one;
  const page = judgeHealth(data);
  const findings = nameAccountsDeep(page.findings, [account]);
  return { account, data, health: judgeAccount(data, Date.parse(madeAt)), page: { ...page, findings } };
}

function summarize(one: JudgedAccount) {
  const { account, health, error = null } = one;
  const report = one.error === undefined ? summarizeReport(one.data, one.page) : null;
  return { account, ok: error === null, health: health.word, report, error };
}

interface Told {
  readonly headline: string;
  readonly tone: Tone;
  readonly madeAt: string;
}

function drawHeader(accounts: readonly JudgedAccount[], { headline, tone, madeAt }: Told): Markup {
  const sources = new Set(
    accounts.flatMap(({ data }) =>
      data === undefined ? [] : `${data.source.connector} at ${data.source.baseUrl}`,
    ),
  );
  const [source = ''] = sources;
  const where = sources.size > 1 ? `${sources.size} sources` : source;
  return html`<header>
    <p class="eyebrow">
      Sluice report${where !== '' && html` <span aria-hidden="true">·</span> <bdi>${where}</bdi>`}
    </p>
    <h1>${drawIcon(tone)} ${headline}</h1>
    <p class="when">As of <time datetime="${madeAt}">${formatMoment(madeAt)}</time></p>
    ${drawFacts(listTotals(accounts, madeAt))}
  </header>`;
}

/** The figures of all accounts together. */
function listTotals(accounts: readonly JudgedAccount[], madeAt: string): readonly Fact[] {
  const good = accounts.filter(({ health }) => health.tone === 'good').length;
  const read = accounts.flatMap(({ data }) => data ?? []);
  const bytes = sum(read, ({ published }) => published?.bytes ?? 0);
  const [oldest] = accounts
    .flatMap(({ account, health }) => health.oldestVerifiedAt?.concat('\n', account) ?? [])
    .toSorted();
  const [verifiedAt = '', name] = oldest?.split('\n') ?? [];
  const kept = read.filter(({ quarantine }) => quarantine.total > 0).length;
  return [
    { name: 'Accounts verified', value: `${good} of ${accounts.length}`, aside: undefined },
    {
      name: 'Rows',
      value: formatCount(sum(accounts, ({ health }) => health.rows ?? 0)),
      aside: bytes === 0 ? 'nothing published' : `${formatBytes(bytes)} published`,
    },
    { name: 'Verified longest ago', value: name ?? '–', aside: name && formatAge(verifiedAt, madeAt) },
    {
      name: 'In quarantine',
      value: formatCount(sum(read, ({ quarantine }) => quarantine.total)),
      aside: kept === 0 ? undefined : `of ${formatCount(kept)} ${kept === 1 ? 'account' : 'accounts'}`,
    },
  ];
}

const MOST_WORDS = 200;

function drawOverview(accounts: readonly JudgedAccount[], madeAt: string, { isLive }: Paging): Markup {
  const linkTo = (account: string) => (isLive ? `accounts/${account}` : `#account-${account}`);
  return drawTable<JudgedAccount>(
    'How each account stands, the worst first',
    [
      { head: 'Account', cell: ({ account }) => html`<a href="${linkTo(account)}">${account}</a>` },
      { head: 'State', cell: ({ health }) => drawBadge(health.tone, health.word) },
      {
        head: 'Verified',
        isNumber: true,
        cell: ({ health, data }) => (data === undefined ? '–' : `${health.verified} of ${health.offered}`),
      },
      {
        head: 'Rows',
        isNumber: true,
        cell: ({ health }) => (health.rows === undefined ? '–' : formatCount(health.rows)),
      },
      {
        head: 'Oldest verified',
        cell: ({ health, data }) => data && drawAge(health.oldestVerifiedAt, madeAt),
      },
      { head: 'Last run', cell: ({ data }) => data && drawLastRun(data) },
      { head: 'What to know', cell: drawFirstFinding },
    ],
    accounts,
  );
}

function drawAge(at: string | undefined, madeAt: string): Part {
  return at === undefined ? 'never' : html`<time datetime="${at}">${formatAge(at, madeAt)}</time>`;
}

function drawLastRun({ runs, madeAt }: ReportData): Part {
  const last = findLastEnded(runs);
  if (last === undefined) return 'none';
  return html`${last.status} <span class="aside">${formatAge(last.startedAt, madeAt)}</span>`;
}

function drawFirstFinding({ page, error }: JudgedAccount): Part {
  if (error !== undefined) return html`<bdi>${cutText(error.message, MOST_WORDS)}</bdi>`;
  const told = page.findings.filter(({ tone }) => tone === 'bad' || tone === 'note');
  const [first] = told;
  if (first === undefined) return html`<span class="aside">Nothing to do</span>`;
  return html`<bdi>${cutText(first.what, MOST_WORDS)}</bdi>
    ${told.length > 1 && html`<span class="aside">and ${told.length - 1} more</span>`}`;
}

/** The page of an account. Only those that need attention are open: forty pages are too long to scroll through. */
function drawAccount(one: JudgedAccount, prefix: string, isOnly: boolean): Markup {
  const { account, health, page } = one;
  const headline = page?.headline ?? 'Nothing of it could be read';
  const isOpen = isOnly || health.tone === 'bad';
  // Tables of numbers would make the file half as long again, and nobody looks at forty of them.
  const charts = { prefix, hasNumbers: isOpen };
  // The link leads inside, so that a browser opens what is closed.
  return html`<details class="account" ${isOpen && html` open`}>
    <summary>
      <h2>${drawIcon(health.tone)} ${account} <span class="aside">${headline}</span></h2>
    </summary>
    <div id="account-${account}">
      ${one.error === undefined ? drawPage(one, charts) : drawError(one.error)}
    </div>
  </details> `;
}

function drawError({ message, hint }: ReportedError): Markup {
  return html`<ul class="findings">
    <li class="bad">
      ${drawIcon('bad')}
      <div>
        <p><bdi>${cutText(message, 600)}</bdi></p>
        <p class="todo"><bdi>${cutText(hint, 600)}</bdi></p>
      </div>
    </li>
  </ul>`;
}

function drawPage(
  { account, data, page }: Extract<JudgedAccount, { readonly data: ReportData }>,
  charts: ChartSet,
): Markup {
  const sections = buildSections(data, page, charts);
  const { published } = data;
  return html`${drawFacts(listFacts(data, page))}
    <nav aria-label="Sections of ${account}">
      <ul>
        ${drawLinks(sections)}
      </ul>
    </nav>
    ${sections.map((section) => drawSection(section, 3))} ${drawLeftOut(data.leftOut, 3)}
    <p class="remark">
      ${published !== undefined && html`Read from <bdi>${published.path}</bdi>, published ${formatMoment(published.modifiedAt)}. `}<a
        href="#accounts"
        >All accounts</a
      >
    </p>`;
}
