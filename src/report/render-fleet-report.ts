import { sum } from 'd3-array';
import {
  type CleanRun,
  type FleetAccount,
  type FleetReportData,
  type FleetStatus,
  type FleetWorker,
  hasFailed,
  type RenderedFleetReport,
} from '../model/fleet-report.ts';
import { type Paging, REPORT_START } from '../model/report-data.ts';
import { formatDuration } from '../text/duration.ts';
import { formatCount, formatCountOf } from '../text/format-count.ts';
import { drawBadge, drawIcon } from './badge.ts';
import { drawDocument } from './document.ts';
import { asFile, chooseReload, describeAgeing } from './paging.ts';
import { drawFacts, type Fact } from './facts.ts';
import { formatAge, formatMoment } from './format-values.ts';
import { cutText, html, type Markup, nameText, type Part } from './markup.ts';
import { drawEmpty, drawLinks, drawSection, drawTable, type Section } from './section.ts';
import type { Tone } from './stream-state.ts';
import { accountStyles } from './styles.ts';

/** An account with what its line says. */
interface Line {
  readonly one: FleetAccount;
  readonly clean: CleanRun | undefined;
  readonly tone: Tone;
  readonly word: string;
}

/** Failures that are told in full; the table has all of them. */
const MOST_FAILURES = 100;
/** Accounts that are named in one of them. */
const MOST_NAMES = 10;

/** Renders a fleet as one HTML file: what failed, every account, the workers and the runs of the last day. */
export function renderFleetReport(
  { status, cleanRuns, version }: FleetReportData,
  paging: Paging = asFile,
): RenderedFleetReport {
  const madeAt = status.now;
  const lines = status.accounts
    .map((one) => judge(one, cleanRuns.get(one.account)))
    .toSorted((a, b) => rank(a) - rank(b) || (a.one.account < b.one.account ? -1 : 1));
  const failed = lines.filter(({ one }) => hasFailed(one));
  const headline = describe(lines, failed.length);
  const tone = TONES.find((tone) => lines.some((line) => line.tone === tone)) ?? 'idle';
  const sections: readonly Section[] = [
    ...(failed.length === 0 ? [] : [{ id: 'failed', heading: 'What failed', body: drawFailures(failed) }]),
    { id: 'accounts', heading: 'Accounts', body: drawAccounts(lines, madeAt) },
    { id: 'workers', heading: 'Workers', body: drawWorkers(status) },
    { id: 'runs', heading: 'Runs of the last day', body: drawRuns(status) },
  ];
  const body = html`<header>
      <p class="eyebrow">
        Sluice fleet report <span aria-hidden="true">·</span> <bdi>${status.database}</bdi>
      </p>
      <h1>${drawIcon(tone)} ${headline}</h1>
      <p class="when">As of <time datetime="${madeAt}">${formatMoment(madeAt)}</time></p>
      ${drawFacts(listFacts(status, lines))}
    </header>
    <nav aria-label="Sections">
      <ul>
        ${drawLinks(sections)}
      </ul>
    </nav>
    <main>${sections.map((section) => drawSection(section))}</main>
    <footer>
      <p>
        Made by Sluice ${version} at ${formatMoment(madeAt)}, from the fleet's database. All times are UTC, by
        its clock. Ages are those at that moment: ${describeAgeing(paging)}.
      </p>
    </footer>`;
  const isAtWork = status.accounts.some(({ state }) => state === 'running');
  const page = drawDocument({
    title: headline,
    body,
    more: accountStyles,
    ...chooseReload(paging, isAtWork),
  });
  return {
    html: REPORT_START + page.text,
    summary: {
      madeAt,
      tone,
      headline,
      failed: failed.map(({ one }) => ({ account: one.account, error: one.lastError ?? null })),
    },
  };
}

const TONES = ['bad', 'note', 'good'] as const;

function judge(one: FleetAccount, clean: CleanRun | undefined): Line {
  if (hasFailed(one)) return { one, clean, tone: 'bad', word: `failed (${one.lastExitCode ?? '?'})` };
  if (one.state === 'lost') return { one, clean, tone: 'note', word: 'lost' };
  if (one.state === 'paused') return { one, clean, tone: 'note', word: 'paused' };
  if (one.lastExitCode === 0) return { one, clean, tone: 'good', word: 'complete' };
  return {
    one,
    clean,
    tone: 'idle',
    word: one.lastExitCode === undefined ? 'not run yet' : 'to be continued',
  };
}

const ORDER: readonly Tone[] = ['bad', 'note', 'idle', 'good'];

function rank({ tone }: Line): number {
  return ORDER.indexOf(tone);
}

function describe(lines: readonly Line[], failed: number): string {
  const of = `of ${formatCountOf(lines.length, 'account')}`;
  if (lines.length === 0) return 'No account yet';
  if (failed > 0) return `${formatCount(failed)} ${of} failed`;
  const clean = lines.filter(({ tone }) => tone === 'good').length;
  return clean === lines.length
    ? `${lines.length === 1 ? 'The account is' : `All ${formatCount(lines.length)} accounts are`} complete`
    : `None failed; ${formatCount(clean)} ${of} complete`;
}

function listFacts({ lastDay, workers }: FleetStatus, lines: readonly Line[]): readonly Fact[] {
  const waiting = lines.filter(({ one }) => one.state === 'due' || one.state === 'lost').length;
  const running = lines.filter(({ one }) => one.state === 'running').length;
  const working = workers.filter(({ state }) => state === 'working');
  const lanes = sum(working, (one) => one.lanes);
  const rows = sum(lines, ({ clean }) => countRows(clean) ?? 0);
  const complete = lastDay.byExitCode['0'] ?? 0;
  return [
    {
      name: 'Accounts',
      value: formatCount(lines.length),
      aside: `${formatCount(waiting)} waiting for a lane`,
    },
    { name: 'Rows', value: formatCount(rows), aside: 'after the last complete runs' },
    {
      name: 'Workers',
      value: formatCount(working.length),
      aside: `${formatCount(running)} of ${formatCountOf(lanes, 'lane')} busy`,
    },
    { name: 'Runs, last day', value: formatCount(lastDay.runs), aside: `${formatCount(complete)} complete` },
    {
      name: 'Requests, last day',
      value: formatCount(lastDay.requests),
      aside: `${formatCount(lastDay.rateLimited)} answered 429`,
    },
  ];
}

/** What accounts have in common is told once. */
function drawFailures(failed: readonly Line[]): Markup {
  const alike = [
    ...Map.groupBy(failed, ({ one: { lastError, lastExitCode } }) =>
      lastError === undefined
        ? `exit code ${lastExitCode ?? '?'}`
        : `${lastError.message}\n${lastError.hint}`,
    ),
  ];
  return html`<ul class="findings">
      ${alike.slice(0, MOST_FAILURES).map(([what, of]) => drawFailure(what, of))}
    </ul>
    ${
      alike.length > MOST_FAILURES &&
      html`<p class="remark">and ${formatCount(alike.length - MOST_FAILURES)} more, in the table</p>`
    }`;
}

function drawFailure(what: string, of: readonly Line[]): Markup {
  const [message = '', ...hint] = what.split('\n');
  const names = of.slice(0, MOST_NAMES);
  return html`<li class="bad">
    ${drawIcon('bad')}
    <div>
      <p>
        ${names.map(
          ({ one: { account } }, at) => html`${at > 0 && ', '}<a href="#account-${account}">${account}</a>`,
        )}${of.length > names.length && ` and ${formatCount(of.length - names.length)} more`}:
        <bdi>${cutText(message, 600)}</bdi>
      </p>
      ${hint.length > 0 && html`<p class="todo"><bdi>${cutText(hint.join(' '), 600)}</bdi></p>`}
    </div>
  </li> `;
}

function drawAccounts(lines: readonly Line[], madeAt: string): Markup {
  if (lines.length === 0) return drawEmpty('No worker and no sluice fleet init has added one.');
  return drawTable<Line>(
    'Every account, those that failed first',
    [
      {
        head: 'Account',
        cell: ({ one }) => html`<span id="account-${one.account}">${nameText(one.account)}</span>`,
      },
      {
        head: 'Last run',
        cell: ({ one, tone, word }) => html`${drawBadge(tone, word)} ${drawAside(one.lastEndedAt, madeAt)}`,
      },
      { head: 'Now', cell: ({ one }) => drawNow(one, madeAt) },
      { head: 'Last complete', cell: ({ one }) => drawAge(one.lastCleanAt, madeAt) },
      { head: 'Verified', cell: ({ clean }) => drawVerdicts(clean) },
      { head: 'Rows', isNumber: true, cell: ({ clean }) => formatRows(clean) },
    ],
    lines,
  );
}

function drawNow({ state, isPaused, isInConfig, worker, nextAt }: FleetAccount, madeAt: string): Part {
  const waitMs = nextAt === undefined ? 0 : Date.parse(nextAt) - Date.parse(madeAt);
  const aside =
    state === 'running' || state === 'lost'
      ? worker
      : nextAt === undefined || state === 'paused'
        ? undefined
        : waitMs > 0
          ? `in ${formatDuration(waitMs)}`
          : `for ${formatDuration(-waitMs)}`;
  const notes = [aside, isPaused && state !== 'paused' && 'then paused', !isInConfig && 'not in the config'];
  const told = notes.filter((note) => typeof note === 'string');
  return html`${state} ${told.length > 0 && html`<span class="aside"><bdi>${told.join(', ')}</bdi></span>`}`;
}

function drawAge(at: string | undefined, madeAt: string): Part {
  return at === undefined ? 'never' : html`<time datetime="${at}">${formatAge(at, madeAt)}</time>`;
}

function drawAside(at: string | undefined, madeAt: string): Part {
  return at !== undefined && html`<span class="aside">${formatAge(at, madeAt)}</span>`;
}

/** Streams that are verified, and the verdicts of the others. */
function drawVerdicts(clean: CleanRun | undefined): Part {
  if (clean === undefined) return '–';
  const offered = clean.streams.filter(({ status }) => status !== 'unavailable');
  const isVerified = ({ status, verdict }: CleanRun['streams'][number]) =>
    verdict === 'verified' || (verdict === undefined && status === 'fresh');
  const others = Map.groupBy(
    offered.filter((one) => !isVerified(one)),
    ({ verdict, status }) => verdict ?? status,
  );
  const told = [...others].map(([word, all]) => `${formatCount(all.length)} ${word}`).join(', ');
  return html`${formatCount(offered.filter(isVerified).length)} of ${formatCount(offered.length)}
  ${told !== '' && html`<span class="aside">${told}</span>`}`;
}

function countRows(clean: CleanRun | undefined): number | undefined {
  const counts = clean?.streams.flatMap(({ rowsInTable }) => rowsInTable ?? []) ?? [];
  return counts.length === 0 ? undefined : sum(counts);
}

function formatRows(clean: CleanRun | undefined): string {
  const rows = countRows(clean);
  return rows === undefined ? '–' : formatCount(rows);
}

const WORKER_TONES = { working: 'good', stopped: 'idle', gone: 'bad' } as const;

function drawWorkers({ workers, now }: FleetStatus): Markup {
  if (workers.length === 0) return drawEmpty('No worker was here within a day.');
  return drawTable<FleetWorker>(
    'Workers of the last day',
    [
      { head: 'Worker', cell: ({ worker }) => nameText(worker) },
      { head: 'State', cell: ({ state }) => drawBadge(WORKER_TONES[state], state) },
      { head: 'Busy lanes', isNumber: true, cell: ({ running, lanes }) => `${running} of ${lanes}` },
      { head: 'Seen', cell: ({ seenAt }) => drawAge(seenAt, now) },
      { head: 'Started', cell: ({ startedAt }) => drawAge(startedAt, now) },
      { head: 'Version', cell: ({ version }) => version },
    ],
    workers,
  );
}

const EXITS: Readonly<Record<string, string>> = {
  '0': 'complete',
  '5': 'some streams failed',
  '75': 'to be continued',
  '130': 'stopped',
  '143': 'stopped with their worker',
  lost: 'their worker went away',
};

function drawRuns({ lastDay }: FleetStatus): Markup {
  const ended = Object.entries(lastDay.byExitCode);
  if (ended.length === 0) return drawEmpty('No run ended within a day.');
  return drawTable<(typeof ended)[number]>(
    `${formatCountOf(lastDay.rowsRead, 'row')} read, ${formatCount(lastDay.rowsChanged)} changed`,
    [
      { head: 'Exit code', cell: ([code]) => code },
      { head: 'Meaning', cell: ([code]) => EXITS[code] ?? 'failed' },
      { head: 'Runs', isNumber: true, cell: ([, count]) => formatCount(count) },
    ],
    ended,
  );
}
