import { adviseTooManyGone, describeDeferral, describeDifference } from '../model/describe-difference.ts';
import { listNames } from '../text/list-names.ts';
import { describeEnd, withoutName } from '../text/name-once.ts';
import { describeHolder, isTurnedAway } from '../model/refused-run.ts';
import type { ReportData, RunFacts } from '../model/report-data.ts';
import { isOfSharedKeys } from '../model/run-report.ts';
import { formatCountOf } from '../text/format-count.ts';
import { formatMoment } from './format-values.ts';
import {
  describeState,
  findLastEnded,
  type Finding,
  type JudgedStream,
  type StreamState,
} from './stream-state.ts';

const WEEK_MS = 7 * 86_400_000;

const todos: Readonly<Partial<Record<StreamState, string>>> = {
  damaged: 'Run `sluice verify`: it names the files and says how to repair them.',
  stopped: 'Run `sluice sync` again: it continues from the pages that are kept.',
  never: 'Run `sluice sync`.',
  reset: 'Run `sluice sync`.',
  partial: 'Run `sluice sync` again, and `sluice runs` to see why it ended.',
  drifted: 'Run `sluice sync` at a time when the source is quiet.',
  stale: 'Ask the provider whether the source was refreshed; no sync can read data that is not there yet.',
  differs: 'Run `sluice sync`: it reads the stream in full as soon as the quota allows it.',
  late: 'See whether the scheduled sync still runs: `sluice runs` lists the last ones.',
};

/** What a reader should know at once, the worst first. */
export function listFindings(
  data: ReportData,
  streams: readonly JudgedStream[],
  lateAfterMs: number,
): readonly Finding[] {
  const found = [
    ...findRefused(data),
    ...findUnpublished(data),
    ...findDamages(data),
    ...findLastRun(data, streams),
    ...findStreams(streams, lateAfterMs),
    ...streams.flatMap(findSharedKeys),
    ...findQuarantined(data),
    ...findSchemaChanges(data),
    ...data.warnings.map((what): Finding => ({ tone: 'note', what: toSentence(what), todo: undefined })),
  ];
  const order = ['bad', 'note', 'good', 'idle'];
  return found.toSorted((a, b) => order.indexOf(a.tone) - order.indexOf(b.tone));
}

/** A run that left no trace in the history of runs. */
function findRefused({ refused }: ReportData): readonly Finding[] {
  if (refused === undefined) return [];
  const { error, startedAt, since, times } = refused;
  const many = `${formatCountOf(times, 'sync')} in a row, from ${formatMoment(since)} to ${formatMoment(startedAt)}`;
  if (isTurnedAway(refused)) {
    const who = times === 1 ? `A sync (${formatMoment(startedAt)}) was` : `${many}, were`;
    const what = `${who} turned away: ${describeHolder(refused)}.`;
    return [{ tone: 'note', what, todo: 'Run `sluice sync` once that has ended.' }];
  }
  const who =
    times === 1
      ? `The last sync (${formatMoment(startedAt)}) was refused before it began`
      : `${many}, were refused before they began`;
  const what = endSentence(`${who}, with exit code ${error.exitCode}: ${joinLines(error.message)}`);
  return [{ tone: 'bad', what, todo: error.hint }];
}

/** A message of several lines in one; what ends with a colon, as the count of problems does, opens the list after it. */
function joinLines(message: string): string {
  return message
    .split('\n')
    .map((line) => line.trim())
    .reduce((before, line) => `${before}${before.endsWith(':') ? ' ' : '; '}${line}`);
}

function findUnpublished({ published, runs }: ReportData): readonly Finding[] {
  if (published !== undefined) return [];
  const what = 'No file is published yet: readers find no data.';
  const todo = runs.length === 0 ? 'Run `sluice sync`.' : 'See what the last run ended with: `sluice runs`.';
  return [{ tone: runs.length === 0 ? 'note' : 'bad', what, todo }];
}

/** What readers have is not what was published. */
function findDamages({ faults, losses }: ReportData): readonly Finding[] {
  return [
    ...losses.map((loss): Finding => ({
      tone: 'bad',
      what: `The lake is incomplete: ${loss}.`,
      todo: todos.damaged,
    })),
    ...faults.map(({ detail, fix }): Finding => ({ tone: 'bad', what: toSentence(detail), todo: fix })),
  ];
}

const endings: Readonly<Record<string, string>> = {
  failed: 'failed',
  stopped: 'stopped before its end, with its progress kept',
  interrupted: 'was interrupted, with its progress kept',
  killed: 'did not record its end (it was killed, or its disk was full); what it had committed is safe',
  partial: 'ended with some streams failed',
};

function findLastRun({ runs }: ReportData, streams: readonly JudgedStream[]): readonly Finding[] {
  const open = runs.findLast(({ status }) => status === 'running');
  const ended = describeEnding(findLastEnded(runs), streams);
  if (open === undefined) return ended;
  const what = `A sync has been under way since ${formatMoment(open.startedAt)}; this report shows the state before it.`;
  return [{ tone: 'idle', what, todo: undefined }, ...ended];
}

function describeEnding(run: RunFacts | undefined, streams: readonly JudgedStream[]): readonly Finding[] {
  const ending = run && endings[run.status];
  if (run === undefined || ending === undefined) return [];
  // What a stream says of itself needs not be said twice.
  const isTold = streams.some(
    ({ state, facts }) =>
      ['failed', 'stopped'].includes(state) &&
      facts.lastAttempt?.runId === run.runId &&
      (run.error === undefined || facts.lastAttempt.error?.message === run.error.message),
  );
  if (isTold) return [];
  const because = run.error === undefined ? '' : `: ${run.error.message}`;
  const what = toSentence(`The last run (${formatMoment(run.startedAt)}) ${ending}${because}`);
  const tone = ['failed', 'partial'].includes(run.status) ? 'bad' : 'note';
  return [{ tone, what, todo: run.error?.hint ?? 'Run `sluice sync` again.' }];
}

/** One finding for all the streams that say the same. */
function findStreams(streams: readonly JudgedStream[], lateAfterMs: number): readonly Finding[] {
  const groups = new Map<string, { readonly first: JudgedStream; readonly names: string[] }>();
  for (const stream of streams) {
    if (['verified', 'unavailable', 'unverified'].includes(stream.state)) continue;
    const why = explainEnd(stream) ?? explainDifference(stream) ?? '';
    const group = groups.get(`${stream.state}\n${why}`);
    if (group === undefined) groups.set(`${stream.state}\n${why}`, { first: stream, names: [stream.name] });
    else group.names.push(stream.name);
  }
  return [...groups.values()].map(({ first, names }) => describeGroup(first, names, lateAfterMs));
}

function describeGroup(first: JudgedStream, names: readonly string[], lateAfterMs: number): Finding {
  const { state, tone, facts } = first;
  const attempt = facts.lastAttempt;
  const ending = explainEnd(first);
  // Where the message says at which offset it was, that is said once.
  const isAlone = names.length === 1 && facts.slice === '';
  const reasons = attempt?.reasons.join('; ') ?? '';
  const isJudged = ['drifted', 'partial'].includes(state);
  const what =
    ending !== undefined
      ? describeEnd(listNames(names), state, (isAlone && attempt?.error?.message) || ending)
      : `${listNames(names)}: ${describeGroupState(first, lateAfterMs)}${isJudged && reasons !== '' ? ` (${reasons})` : ''}`;
  const hint = ending === undefined ? undefined : attempt?.error?.hint;
  const isStuck = state === 'differs' && facts.fullRefreshDue === undefined;
  const todo =
    hint ??
    (isStuck ? toSentence(adviseTooManyGone(facts.stream)) : (sayDeferral(first) ?? todos[state])) ??
    'Run `sluice runs` to see what happened.';
  return { tone, what: endSentence(what), todo };
}

function describeGroupState(stream: JudgedStream, lateAfterMs: number): string {
  return explainDifference(stream) ?? describeState(stream.state, lateAfterMs);
}

/** Why a full refresh is due, in the words of the sync that found it. */
function explainDifference({ state, facts }: JudgedStream): string | undefined {
  if (state !== 'differs') return undefined;
  return facts.fullRefreshDue ?? (facts.counts && describeDifference(facts.counts));
}

function sayDeferral({ state, facts }: JudgedStream): string | undefined {
  const { stream, fullRefreshFrom } = facts;
  if (state !== 'differs' || fullRefreshFrom === undefined) return undefined;
  return toSentence(describeDeferral(stream, Date.parse(fullRefreshFrom)));
}

/** What a stream failed of or was stopped by, without its name in front. */
function explainEnd({ state, name, facts }: JudgedStream): string | undefined {
  if (state !== 'failed' && state !== 'stopped') return undefined;
  const message = facts.lastAttempt?.error?.message;
  return message && withoutName(withoutName(message, name), facts.stream);
}

/** Fewer rows than records: what was loaded is not what somebody who chose the key expects. */
function findSharedKeys({ state, name, facts }: JudgedStream): readonly Finding[] {
  const reason = state === 'unverified' ? facts.lastAttempt?.reasons.find(isOfSharedKeys) : undefined;
  if (reason === undefined) return [];
  const todo =
    'Only one row of each key is kept. Give the stream a `key` that tells its rows apart, or none, so that one is learned; then run `sluice sync --full-refresh`.';
  return [{ tone: 'note', what: endSentence(`${name}: ${reason}`), todo }];
}

function findQuarantined({ quarantine, madeAt }: ReportData): readonly Finding[] {
  const { total, reasons } = quarantine;
  if (total === 0) return [];
  const since = Date.parse(madeAt) - WEEK_MS;
  const isNew = reasons.some(({ newestAt }) => Date.parse(newestAt) >= since);
  const what = `${formatCountOf(total, 'record')} could not become ${total === 1 ? 'a row' : 'rows'} and ${total === 1 ? 'is' : 'are'} kept in quarantine.`;
  const todo = 'See the reasons below. Fix the source or the contract, then run `sluice quarantine retry`.';
  return [{ tone: isNew ? 'note' : 'idle', what, todo }];
}

function findSchemaChanges({ schemaChanges, madeAt, streams }: ReportData): readonly Finding[] {
  const since = Date.parse(madeAt) - WEEK_MS;
  const first = new Set(streams.flatMap(({ attempts }) => attempts[0]?.runId ?? []));
  // A table's first columns are not a change worth reporting.
  const recent = schemaChanges.newest.filter(
    ({ changedAt, change, runId }) =>
      Date.parse(changedAt) >= since && !(change === 'added' && first.has(runId)),
  );
  if (recent.length === 0) return [];
  const names = [...new Set(recent.map(({ stream }) => stream))];
  const what = `${formatCountOf(recent.length, 'column')} changed in the last 7 days: ${listNames(names)}.`;
  return [
    { tone: 'idle', what, todo: 'See the schema changes below; queries that use them may need a change.' },
  ];
}

// The name of a key or a stream is written as it is.
function toSentence(text: string): string {
  return endSentence(text.replace(/^[a-z](?=[a-z]*[ ,])/, (letter) => letter.toUpperCase()));
}

function endSentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
