import {
  type FleetAccount,
  type FleetAccountState,
  type FleetStatus,
  type FleetWorker,
  hasFailed,
} from '../model/fleet-report.ts';
import { formatDuration } from '../text/duration.ts';
import { formatCount, formatCountOf } from '../text/format-count.ts';
import { listNames } from '../text/list-names.ts';
import { drawFittingTable } from './fitting-table.ts';
import { toSafeLine } from './safe-text.ts';
import { wrapText } from './wrap-text.ts';

/** How a fleet is shown. */
export interface FleetOptions {
  /** Every account, not only those that need a look. */
  readonly isAll: boolean;
  readonly columns: number | undefined;
}

/** Accounts that need a look at most, if not all are asked for. */
const MOST_SHOWN = 30;
/** Failures in different words at most, likewise. */
const MOST_ERRORS = 5;
/** What people look for first. */
const ORDER: readonly FleetAccountState[] = [
  'lost',
  'running',
  'retrying',
  'due',
  'deferred',
  'paused',
  'scheduled',
  'idle',
];

/** Accounts, workers and the last day of a fleet, for people. */
export function renderFleet(status: FleetStatus, { isAll, columns }: FleetOptions): string {
  const nowMs = Date.parse(status.now);
  const sorted = status.accounts.toSorted((a, b) => rankOf(a) - rankOf(b) || compare(a.account, b.account));
  const wanted = isAll ? sorted : sorted.filter(needsLook).slice(0, MOST_SHOWN);
  const left = sorted.length - wanted.length;
  const table = drawFittingTable(
    [
      { title: 'ACCOUNT' },
      { title: 'STATE' },
      { title: 'NEXT' },
      { title: 'LAST RUN' },
      { title: 'LAST CLEAN', dropAt: 2 },
      { title: 'WORKER', dropAt: 1 },
    ],
    wanted.map((one) => describeAccount(one, nowMs)),
    columns,
  );
  const parts = [
    wrapText(`${capitalise(summarizeFleet(status))}.`, columns),
    wanted.length === 0 ? '' : table,
    left > 0 && !isAll
      ? `${formatCountOf(left, 'account')}${wanted.length === 0 ? '' : ' more'}; sluice fleet status --all lists ${left === 1 ? 'it' : 'them'}`
      : '',
    drawWorkers(status, { isAll, columns }),
    wrapText(describeLastDay(status), columns),
    ...describeErrors(sorted, isAll).map((text) => wrapText(text, columns)),
  ];
  return parts
    .filter((part) => part !== '')
    .map((part, at) => (at === 0 ? part : `\n${part}`))
    .join('\n');
}

/** Workers that are there or went away; those that stopped are only counted. */
function drawWorkers({ workers, now }: FleetStatus, { isAll, columns }: FleetOptions): string {
  const shown = workers.filter(({ state }) => isAll || state !== 'stopped');
  const stopped = workers.length - shown.length;
  const table = drawFittingTable(
    [
      { title: 'WORKER' },
      { title: 'STATE' },
      { title: 'BUSY', align: 'right' },
      { title: 'SEEN', dropAt: 2 },
      { title: 'VERSION', dropAt: 1 },
    ],
    shown.map((one) => describeWorker(one, Date.parse(now))),
    columns,
  );
  const notes = [
    shown.some(({ state }) => state === 'working')
      ? ''
      : 'No worker is at work: sluice fleet worker starts one',
    stopped === 0 ? '' : `${formatCountOf(stopped, 'worker')} stopped within the last day`,
  ];
  return [shown.length === 0 ? '' : table, notes.filter((note) => note !== '').join('; ')]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** One sentence about a fleet. */
export function summarizeFleet({ accounts, workers }: FleetStatus): string {
  if (accounts.length === 0) return 'no account yet: sluice fleet init adds those of the config';
  const counts = ORDER.flatMap((state) => {
    const count = accounts.filter((one) => one.state === state).length;
    return count === 0 ? [] : [`${formatCount(count)} ${state}`];
  });
  const failed = accounts.filter(hasFailed).length;
  const working = workers.filter(({ state }) => state === 'working');
  const lanes = working.reduce((sum, one) => sum + one.lanes, 0);
  return [
    `${formatCountOf(accounts.length, 'account')}: ${counts.join(', ')}`,
    failed === 0 ? 'none failed' : `${formatCount(failed)} failed`,
    `${formatCountOf(working.length, 'worker')} with ${formatCountOf(lanes, 'lane')}`,
  ].join('; ');
}

function rankOf(one: FleetAccount): number {
  return hasFailed(one) ? -1 : ORDER.indexOf(one.state);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function needsLook(one: FleetAccount): boolean {
  return hasFailed(one) || (one.state !== 'scheduled' && one.state !== 'idle') || !one.isInConfig;
}

function describeAccount(one: FleetAccount, nowMs: number): readonly string[] {
  const since = one.startedAt === undefined ? '' : ` for ${age(one.startedAt, nowMs)}`;
  const state = one.state === 'running' ? `running${since}` : one.state;
  const paused = one.isPaused && one.state !== 'paused' ? ', then paused' : '';
  return [
    one.isInConfig ? one.account : `${one.account} (not in the config)`,
    `${state}${paused}`,
    describeNext(one, nowMs),
    one.lastExitCode === undefined
      ? 'none'
      : `${describeExit(one.lastExitCode)}, ${age(one.lastEndedAt, nowMs)} ago`,
    one.lastCleanAt === undefined ? 'never' : `${age(one.lastCleanAt, nowMs)} ago`,
    toSafeLine(one.worker ?? '-'),
  ];
}

function describeNext({ state, nextAt }: FleetAccount, nowMs: number): string {
  if (state === 'running' || state === 'paused' || nextAt === undefined) return '-';
  const inMs = Date.parse(nextAt) - nowMs;
  return inMs <= 0 ? `due for ${formatDuration(-inMs)}` : `in ${formatDuration(inMs)}`;
}

function describeExit(exitCode: number): string {
  if (exitCode === 0) return 'complete';
  if (exitCode === 75) return 'to be continued';
  if (exitCode === 143 || exitCode === 130) return 'stopped';
  return exitCode === 5 ? 'partly failed (5)' : `failed (${exitCode})`;
}

function describeWorker(one: FleetWorker, nowMs: number): readonly string[] {
  return [
    toSafeLine(one.worker),
    one.state,
    `${one.running} of ${one.lanes}`,
    `${age(one.seenAt, nowMs)} ago`,
    one.version,
  ];
}

function describeLastDay({ lastDay }: FleetStatus): string {
  const { runs, byExitCode, requests, rateLimited, rowsRead, rowsChanged } = lastDay;
  if (runs === 0) return 'No run ended within the last day';
  const clean = byExitCode['0'] ?? 0;
  const others = Object.entries(byExitCode)
    .filter(([code]) => code !== '0')
    .map(([code, count]) => `${formatCount(count)} ${code === 'lost' ? 'lost' : describeExit(Number(code))}`);
  return [
    `Last day: ${formatCountOf(runs, 'run')}, ${[`${formatCount(clean)} complete`, ...others].join(', ')}`,
    `${formatCountOf(requests, 'request')}, ${formatCount(rateLimited)} answered 429`,
    `${formatCountOf(rowsRead, 'row')} read, ${formatCount(rowsChanged)} changed`,
  ].join('; ');
}

/** What accounts have in common is said once. */
function describeErrors(accounts: readonly FleetAccount[], isAll: boolean): readonly string[] {
  const failed = accounts
    .filter(hasFailed)
    .flatMap(({ account, lastError }) =>
      lastError === undefined
        ? []
        : [{ account, what: `${toSafeLine(lastError.message)}\n  next: ${toSafeLine(lastError.hint)}` }],
    );
  const alike = [...Map.groupBy(failed, ({ what }) => what)];
  const shown = isAll ? alike : alike.slice(0, MOST_ERRORS);
  const more = alike.length - shown.length;
  return [
    ...shown.map(([what, of]) => `${listNames(of.map(({ account }) => account))}: ${what}`),
    ...(more > 0 ? [`${formatCountOf(more, 'more failure')}; sluice fleet status --all shows them`] : []),
  ];
}

function age(iso: string | undefined, nowMs: number): string {
  return iso === undefined ? '-' : formatDuration(nowMs - Date.parse(iso));
}

function capitalise(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}
