import type {
  FleetAccount,
  FleetAccountState,
  FleetChange,
  FleetRepair,
  FleetStatus,
  FleetWorker,
} from '../model/fleet-report.ts';
import { formatDuration } from '../text/duration.ts';
import { formatCount, formatCountOf } from '../text/format-count.ts';
import { drawFittingTable } from './fitting-table.ts';
import { toSafeLine } from './safe-text.ts';
import { wrapText } from './wrap-text.ts';

/** What making a fleet came to. */
interface MadeFleet {
  readonly database: string;
  readonly before: number;
  readonly version: number;
  readonly added: number;
  readonly store: string;
}

/** What was made, for people. */
export function renderFleetInit(made: MadeFleet, accounts: number): string {
  const { database, before, version, added, store } = made;
  const tables =
    before === 0
      ? 'The tables and the queue were made'
      : before === version
        ? 'The tables and the queue are current'
        : `The tables were brought from version ${before} to ${version}`;
  return [
    `${tables} in ${database}. The store ${store} answers.`,
    `${formatCountOf(accounts, 'account')} in the config, ${formatCount(added)} of them new: those are due at once.`,
    'Next: sluice fleet worker, on as many machines as you like; then sluice fleet status --watch',
  ].join('\n');
}

/** How a fleet is shown. */
export interface FleetOptions {
  /** Every account, not only those that need a look. */
  readonly isAll: boolean;
  readonly columns: number | undefined;
}

/** Accounts that need a look at most, if not all are asked for. */
const MOST_SHOWN = 30;
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
  const workers = drawFittingTable(
    [
      { title: 'WORKER' },
      { title: 'STATE' },
      { title: 'BUSY', align: 'right' },
      { title: 'SEEN', dropAt: 2 },
      { title: 'VERSION', dropAt: 1 },
    ],
    status.workers.map((one) => describeWorker(one, nowMs)),
    columns,
  );
  const parts = [
    wrapText(`${capitalise(summarizeFleet(status))}.`, columns),
    wanted.length === 0 ? '' : table,
    left > 0 && !isAll ? `${formatCountOf(left, 'account')} more; sluice fleet status --all lists them` : '',
    status.workers.length === 0
      ? 'No worker has been here for a day: sluice fleet worker starts one'
      : workers,
    describeLastDay(status),
    ...wanted.flatMap((one) => describeError(one)),
  ];
  return parts
    .filter((part) => part !== '')
    .map((part, at) => (at === 0 ? part : `\n${part}`))
    .join('\n');
}

/** One sentence about a fleet. */
export function summarizeFleet({ accounts, workers }: FleetStatus): string {
  const counts = ORDER.flatMap((state) => {
    const count = accounts.filter((one) => one.state === state).length;
    return count === 0 ? [] : [`${formatCount(count)} ${state}`];
  });
  const failed = accounts.filter(isFailed).length;
  const working = workers.filter(({ state }) => state === 'working');
  const lanes = working.reduce((sum, one) => sum + one.lanes, 0);
  return [
    `${formatCountOf(accounts.length, 'account')}: ${counts.length === 0 ? 'none yet' : counts.join(', ')}`,
    failed === 0 ? 'none failed' : `${formatCount(failed)} failed`,
    `${formatCountOf(working.length, 'worker')} with ${formatCountOf(lanes, 'lane')}`,
  ].join('; ');
}

function rankOf(one: FleetAccount): number {
  return isFailed(one) ? -1 : ORDER.indexOf(one.state);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function needsLook(one: FleetAccount): boolean {
  return isFailed(one) || (one.state !== 'scheduled' && one.state !== 'idle') || !one.isInConfig;
}

/** Whether its last run failed, and not only has to wait. */
function isFailed({ lastExitCode }: FleetAccount): boolean {
  return ![undefined, 0, 75, 130, 143].includes(lastExitCode);
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
  return exitCode === 143 || exitCode === 130 ? 'stopped' : `failed (${exitCode})`;
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
    .map(([code, count]) => `${formatCount(count)} ${code === 'lost' ? 'lost' : `with ${code}`}`);
  return [
    `Last day: ${formatCountOf(runs, 'run')}, ${[`${formatCount(clean)} complete`, ...others].join(', ')}`,
    `${formatCountOf(requests, 'request')}, ${formatCount(rateLimited)} answered 429`,
    `${formatCountOf(rowsRead, 'row')} read, ${formatCount(rowsChanged)} changed`,
  ].join('; ');
}

function describeError(one: FleetAccount): readonly string[] {
  const { account, lastError } = one;
  if (lastError === undefined || !isFailed(one)) return [];
  return [`${account}: ${toSafeLine(lastError.message)}\n  ${toSafeLine(lastError.hint)}`];
}

function age(iso: string | undefined, nowMs: number): string {
  return iso === undefined ? '-' : formatDuration(nowMs - Date.parse(iso));
}

function capitalise(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

const OUTCOMES: Readonly<Record<FleetChange['outcome'], string>> = {
  queued: 'is due now; the next free lane takes it',
  running: 'is at work already',
  paused: 'is paused',
  'paused already': 'was paused already',
  resumed: 'is resumed',
  'not paused': 'was not paused',
  freed: 'is free: what its worker still does is refused',
  'not held': 'was not held by a worker',
};

/** What changed, a line an account. */
export function renderFleetChanges(changes: readonly FleetChange[]): string {
  return changes
    .map(({ account, outcome, worker }) => {
      const who = worker === undefined ? '' : ` (${toSafeLine(worker)})`;
      return `${account} ${OUTCOMES[outcome]}${who}`;
    })
    .join('\n');
}

/** One sentence about changes. */
export function summarizeFleetChanges(changes: readonly FleetChange[]): string {
  const [only] = changes;
  if (only !== undefined && changes.length === 1) return `${only.account} ${OUTCOMES[only.outcome]}`;
  const counts = Map.groupBy(changes, ({ outcome }) => outcome);
  return [...counts].map(([outcome, all]) => `${formatCount(all.length)} ${outcome}`).join(', ');
}

/** What a repair found and did. */
export function renderFleetRepair(repair: FleetRepair): string {
  const { orphans, isRemoved, isForgotten, account } = repair;
  const found =
    orphans.length === 0
      ? 'The store has nothing of it that nobody needs.'
      : `${isRemoved ? 'Deleted from the store' : 'In the store, needed by nobody'}:\n${orphans
          .map((name) => `  ${toSafeLine(name)}`)
          .join('\n')}${isRemoved ? '' : `\n  next: sluice fleet repair ${account} --remove-orphans`}`;
  const forgotten = isForgotten
    ? ['Its state was forgotten: the next run restores it from a destination, or begins again.']
    : [];
  return [renderFleetChanges([repair]), ...forgotten, found].join('\n');
}
