import type { ReportData } from '../model/report-data.ts';
import { isTurnedAway, type RefusedRun } from '../model/refused-run.ts';
import type { StatusReport, StreamStatusRow } from '../model/reports.ts';
import { isOfSync, isSync, type RunReport } from '../model/run-report.ts';
import { nameScan } from '../model/stream.ts';
import {
  findLastEnded,
  findLateness,
  findState,
  type RunStanding,
  type StreamStanding,
  type StreamState,
  streamTones,
  type Tone,
} from './stream-state.ts';

/** What the health of an account follows from; what a report gathers has all of it. */
export interface AccountFacts {
  readonly streams: readonly (StreamStanding & Pick<StreamStatusRow, 'rows'>)[];
  /** Oldest first. */
  readonly runs: readonly RunStanding[];
  readonly refused: RefusedRun | undefined;
  readonly published: ReportData['published'] | StatusReport['published'];
  readonly faults?: StatusReport['faults'];
  readonly losses?: StatusReport['losses'];
}

/** How an account stands: of all that is true of it, the worst. */
export interface AccountHealth {
  /** In a word or two. */
  readonly word: string;
  readonly tone: Tone;
  /** For an order with the worst first; those alike have the same. */
  readonly rank: number;
  /** Streams and slices that are verified and up to date, of those that the API offers. */
  readonly verified: number;
  readonly offered: number;
  /** Rows of all its tables; undefined if none is known. */
  readonly rows: number | undefined;
  /** ISO time of the stream whose last verification is the oldest; undefined if one never was. */
  readonly oldestVerifiedAt: string | undefined;
}

type AccountState = StreamState | 'refused' | 'unpublished' | 'interrupted' | 'killed';

const words: Readonly<Partial<Record<AccountState, string>>> = {
  unpublished: 'not published',
  unavailable: 'not offered',
};

const tones: Readonly<Record<AccountState, Tone>> = {
  ...streamTones,
  refused: 'bad',
  unpublished: 'bad',
  interrupted: 'note',
  killed: 'note',
};

/** From the worst to the best; the first that is true of an account is said of it. */
const order: readonly AccountState[] = [
  ...(['damaged', 'failed', 'refused', 'partial', 'late', 'unpublished'] as const),
  ...(['killed', 'interrupted', 'stopped', 'drifted', 'stale', 'never', 'reset', 'unverified'] as const),
  ...(['differs', 'verified', 'unavailable'] as const),
];

const RANKS: Readonly<Record<Tone, number>> = { bad: 0, note: 1, good: 3, idle: 3 };
const RANK_OF_DUE = 2;

/** An account of which nothing can be read. */
export const unreadableHealth: AccountHealth = {
  word: 'not readable',
  tone: 'bad',
  rank: RANKS.bad,
  verified: 0,
  offered: 0,
  rows: undefined,
  oldestVerifiedAt: undefined,
};

/** Judges an account by its streams, its last run and what is published. */
export function judgeAccount(facts: AccountFacts, nowMs: number): AccountHealth {
  const lateAfterMs = findLateness(facts.runs);
  const states = facts.streams.map((stream) => findState(stream, nowMs, lateAfterMs));
  const offered = facts.streams.filter((_, at) => states[at] !== 'unavailable');
  const found = new Set<AccountState>([...states, ...judgeRuns(facts)]);
  const state = order.find((one) => found.has(one)) ?? 'unavailable';
  const tone = tones[state];
  const isNew = states.every((one) => one === 'never' || one === 'unavailable');
  const rows = facts.streams.flatMap((stream) => stream.rows ?? []);
  const times = offered.flatMap(({ verifiedAt }) => verifiedAt ?? []);
  return {
    word: state === 'never' ? (isNew ? 'never synced' : 'not all synced') : (words[state] ?? state),
    tone,
    rank: state === 'differs' ? RANK_OF_DUE : RANKS[tone],
    verified: states.filter((one) => one === 'verified').length,
    offered: offered.length,
    rows: rows.length === 0 ? undefined : rows.reduce((sum, count) => sum + count, 0),
    oldestVerifiedAt: times.length < offered.length ? undefined : times.toSorted()[0],
  };
}

/** What is true of the account as a whole. */
function judgeRuns({
  runs,
  refused,
  published,
  faults = [],
  losses = [],
}: AccountFacts): readonly AccountState[] {
  const ended = findLastEnded(runs)?.status;
  const ending = ENDINGS.find((one) => one === ended);
  return [
    ...(faults.length + losses.length > 0 ? (['damaged'] as const) : []),
    ...(refused !== undefined && !isTurnedAway(refused) ? (['refused'] as const) : []),
    ...(published === undefined && ended !== undefined ? (['unpublished'] as const) : []),
    ...(ending === undefined ? [] : [ending]),
  ];
}

/** How a run may end that says something of the account, even where its streams do not. */
const ENDINGS: readonly AccountState[] = ['failed', 'partial', 'killed', 'interrupted', 'stopped'];

/** What `status` reads of an account, for the same judgement; runs are those of the run file, newest first. */
export function toAccountFacts(status: StatusReport, recent: readonly RunReport[]): AccountFacts {
  const attempts = recent
    .flatMap(({ streams }) => streams)
    .filter((one) => isOfSync(one) && ATTEMPTS.includes(one.status));
  const last = new Map(attempts.toReversed().map((one) => [nameScan(one.stream, one.slice), one]));
  return {
    ...status,
    streams: status.streams.map((row) => ({
      ...row,
      lastAttempt: row.unsettled ?? last.get(nameScan(row.stream, row.slice)),
    })),
    runs: recent
      .map((run) => ({ isSync: isSync(run), startedAt: run.startedAt, status: run.status }))
      .toReversed(),
  };
}

const ATTEMPTS: readonly string[] = ['complete', 'failed', 'stopped', 'unavailable'];

/** One sentence about accounts together. */
export function describeAccounts(accounts: readonly Pick<AccountHealth, 'tone' | 'word'>[]): string {
  const count = accounts.length;
  const of = `of ${count} ${count === 1 ? 'account' : 'accounts'}`;
  const all = count === 1 ? 'The account is' : `All ${count} accounts are`;
  const bad = accounts.filter(({ tone }) => tone === 'bad').length;
  const good = accounts.filter(({ tone }) => tone === 'good' || tone === 'idle').length;
  const isOf = (word: string) => accounts.filter((one) => one.word === word).length;
  if (isOf('never synced') === count) return 'Nothing was synced yet';
  if (bad > 0) return `${bad} ${of} ${bad === 1 ? 'needs' : 'need'} attention`;
  if (good === count) return `${all} verified and up to date`;
  if (good + isOf('unverified') === count)
    return `${all} up to date; ${isOf('unverified')} could not be verified`;
  return `${good} ${of} ${good === 1 || count === 1 ? 'is' : 'are'} verified and up to date`;
}

/** The worst first; those alike by name. */
export function sortAccounts<T extends { readonly account: string; readonly health: AccountHealth }>(
  accounts: readonly T[],
): readonly T[] {
  return accounts.toSorted((a, b) => a.health.rank - b.health.rank || (a.account < b.account ? -1 : 1));
}
