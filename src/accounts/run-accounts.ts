import { toAbortError } from '../model/abort.ts';
import type { AccountEnd, AccountEvent } from '../model/accounts-report.ts';
import type { Clock } from '../model/clock.ts';
import { configDefaults } from '../model/config.ts';
import { QuotaError, toSyncError } from '../model/errors.ts';
import { findTryLater, listErrors } from '../model/outage.ts';
import type { EndedRun } from '../model/run-observer.ts';
import { type ReportedError, type RunReport, toReportedError } from '../model/run-report.ts';
import type { SyncOptions } from '../model/settings.ts';
import { joinReports, listCompleted } from './join-reports.ts';

/** The limits of one run of an account, and the scans that its earlier runs completed. */
export type RunLimits = Pick<SyncOptions, 'maxWaitMs' | 'deadlineMs' | 'completed'>;

/** An account to be synced. */
export interface AccountTask {
  readonly name: string;
  /**
   * Runs once, to its end. Never throws.
   *
   * @param onReading called when it stops reading, to load or to publish, and when it reads again
   */
  readonly run: (limits: RunLimits, onReading: (isReading: boolean) => void) => Promise<EndedRun>;
}

/** How accounts are run. */
export interface AccountLoopOptions {
  /** Each account waits this long for its quota in all; default 24 h. */
  readonly maxWaitMs?: number | undefined;
  /** No run starts or continues after this time. */
  readonly deadlineMs?: number | undefined;
  /** Accounts that read at once; one that waits for its quota, loads or publishes is not counted. */
  readonly concurrency: number;
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
  readonly onEvent?: ((event: AccountEvent) => void) | undefined;
}

/** An account and its progress. */
interface Turn {
  readonly task: AccountTask;
  readonly runs: number;
  readonly waitedMs: number;
  /** Wall time until which it waits. */
  readonly notBeforeMs: number;
  readonly last: EndedRun | undefined;
  readonly report: RunReport | undefined;
}

// Setting the clock, or sleep, moves the wall time without the timer, so it is checked again.
const LONGEST_SLEEP_MS = 60_000;
/** If the time to continue has passed already: runs must not follow each other without a pause. */
const LEAST_PAUSE_MS = 1_000;
/** Accounts at work beyond those that read, at most: each holds an engine. */
const MOST_BEYOND = 2;

/**
 * Runs every account to its end, several at once. One whose quota is spent gives up its place, and continues once the
 * quota returns, within the limits. Accounts know nothing of each other: what fails in one stays in it.
 */
export async function runAccounts(
  tasks: readonly AccountTask[],
  options: AccountLoopOptions,
): Promise<readonly AccountEnd[]> {
  const loop = new AccountLoop(options);
  const ends = await loop.run(tasks);
  return tasks.flatMap(({ name }) => ends.get(name) ?? []);
}

class AccountLoop {
  readonly #options: AccountLoopOptions;
  readonly #deadlineMs: number;
  readonly #ends = new Map<string, AccountEnd>();
  readonly #atWork = new Set<Promise<void>>();
  #reading = 0;
  /** Settled when a run ends or stops reading. */
  #news = Promise.withResolvers<void>();
  #turns: readonly Turn[] = [];

  constructor(options: AccountLoopOptions) {
    this.#options = options;
    this.#deadlineMs = options.clock.monotonic() + (options.deadlineMs ?? Infinity);
  }

  async run(tasks: readonly AccountTask[]): Promise<ReadonlyMap<string, AccountEnd>> {
    const { signal } = this.#options;
    this.#turns = tasks.map((task) => ({
      task,
      runs: 0,
      waitedMs: 0,
      notBeforeMs: -Infinity,
      last: undefined,
      report: undefined,
    }));
    while (this.#turns.length > 0 || this.#atWork.size > 0) {
      if (signal?.aborted === true || this.#leftMs() <= 0) this.#dropAll();
      while (this.#hasPlace()) {
        const turn = this.#takeDue();
        if (turn === undefined) break;
        const work: Promise<void> = this.#work(turn).finally(() => this.#atWork.delete(work));
        this.#atWork.add(work);
      }
      if (this.#turns.length > 0 || this.#atWork.size > 0) await this.#waitForNews();
    }
    return this.#ends;
  }

  #hasPlace(): boolean {
    const { concurrency } = this.#options;
    return this.#reading < concurrency && this.#atWork.size < concurrency + MOST_BEYOND;
  }

  #leftMs(): number {
    return this.#deadlineMs - this.#options.clock.monotonic();
  }

  /** Of those whose time has come, the one that has waited longest. */
  #takeDue(): Turn | undefined {
    const nowMs = this.#options.clock.now();
    const [due] = this.#turns
      .filter(({ notBeforeMs }) => notBeforeMs <= nowMs)
      .toSorted((a, b) => a.notBeforeMs - b.notBeforeMs);
    if (due !== undefined) this.#turns = this.#turns.filter((turn) => turn !== due);
    return due;
  }

  async #work(turn: Turn): Promise<void> {
    const { task, report: earlier } = turn;
    const runs = turn.runs + 1;
    this.#emit({ type: 'account-started', account: task.name, run: runs });
    const leftMs = this.#leftMs();
    const startedAtMs = this.#options.clock.now();
    const limits: RunLimits = {
      maxWaitMs: 0,
      ...(Number.isFinite(leftMs) && { deadlineMs: Math.max(1, Math.floor(leftMs)) }),
      ...(earlier !== undefined && { completed: listCompleted(earlier) }),
    };
    let isReading = true;
    this.#reading += 1;
    const onReading = (now: boolean) => {
      if (now !== isReading) this.#reading += now ? 1 : -1;
      isReading = now;
      this.#news.resolve();
    };
    // An error in one account must not stop the others.
    const last = await task
      .run(limits, onReading)
      .catch((thrown: unknown): EndedRun => ({ startedAtMs, error: toSyncError(thrown) }));
    onReading(false);
    const report = last.report === undefined ? earlier : joinReports(earlier, last.report);
    this.#continue({ ...turn, runs, last, report });
  }

  /** Lets an account wait for its quota, or ends it. */
  #continue(turn: Turn): void {
    const { clock, maxWaitMs = configDefaults.maxWaitMs, signal } = this.#options;
    const { name } = turn.task;
    const nowMs = clock.now();
    const resumeMs = findResume(turn.last);
    if (resumeMs === undefined || signal?.aborted === true) return this.#end(turn);
    const notBeforeMs = Math.max(resumeMs, nowMs + LEAST_PAUSE_MS);
    const waitMs = notBeforeMs - nowMs;
    if (turn.waitedMs + waitMs > maxWaitMs || waitMs >= this.#leftMs()) return this.#end(turn);
    this.#turns = [...this.#turns, { ...turn, waitedMs: turn.waitedMs + waitMs, notBeforeMs }];
    this.#emit({ type: 'account-waiting', account: name, untilMs: notBeforeMs });
  }

  /** Ends accounts that are not at work: the run was stopped, or the deadline has passed. */
  #dropAll(): void {
    const dropped = this.#turns;
    this.#turns = [];
    for (const turn of dropped) this.#drop(turn);
  }

  #end({ task: { name }, last, report, runs }: Turn): void {
    const end = last === undefined ? undefined : describeEnd(name, { last, report, runs });
    // A run stopped by the signal has reported that itself. One that never started may start at any time.
    const resumeAt = new Date(this.#options.clock.now()).toISOString();
    this.#finish(end ?? this.#describeDropped(name, { report, runs, resumeAt }));
  }

  /** Ends an account that is not at work: it was stopped while it waited, or never had its turn. */
  #drop(turn: Turn): void {
    const { task, last, report, runs } = turn;
    if (this.#options.signal?.aborted !== true) return this.#end(turn);
    const resumeAt = last && describeEnd(task.name, { last, report, runs }).resumeAt;
    this.#finish(this.#describeDropped(task.name, { report, runs, resumeAt }));
  }

  #finish(end: AccountEnd): void {
    this.#ends.set(end.account, end);
    this.#emit({ type: 'account-ended', end });
  }

  #describeDropped(account: string, kept: Pick<AccountEnd, 'report' | 'runs' | 'resumeAt'>): AccountEnd {
    const { signal } = this.#options;
    const stopped =
      signal?.aborted === true
        ? toAbortError(signal)
        : new QuotaError(`the deadline was reached before ${account} had its turn`, {
            code: 'deadline_reached',
            hint: 'Nothing was requested for it. Run again, or allow more time with --deadline or more accounts at once with concurrency.',
          });
    const error = toReportedError(stopped);
    return { account, exitCode: error.exitCode, error, ...kept };
  }

  /** Waits until a run ends or stops reading, an account may continue, or the deadline passes. */
  async #waitForNews(): Promise<void> {
    const { clock, signal } = this.#options;
    const hasPlace = this.#hasPlace();
    const nextMs = hasPlace ? Math.min(...this.#turns.map(({ notBeforeMs }) => notBeforeMs)) : Infinity;
    const sleepMs = Math.min(LONGEST_SLEEP_MS, nextMs - clock.now(), this.#leftMs());
    const awake = new AbortController();
    const ends = signal === undefined ? awake.signal : AbortSignal.any([awake.signal, signal]);
    // When a sleep is interrupted, the loop looks at what has changed.
    const sleep =
      this.#turns.length === 0 || (!hasPlace && !Number.isFinite(this.#leftMs()))
        ? []
        : [clock.sleep(Math.max(0, sleepMs), ends).catch(() => undefined)];
    await Promise.race([this.#news.promise, ...this.#atWork, ...sleep]);
    this.#news = Promise.withResolvers();
    awake.abort();
  }

  #emit(event: AccountEvent): void {
    this.#options.onEvent?.(event);
  }
}

/** When the quota of a run returns, in epoch ms; undefined for a run that did not end for its quota. */
function findResume(ended: EndedRun | undefined): number | undefined {
  const errors = ended?.report === undefined ? [] : listErrors(ended.report);
  const times = errors.flatMap(({ code, resumeAt }) =>
    code === 'quota_exhausted' && resumeAt !== undefined ? [Date.parse(resumeAt)] : [],
  );
  return times.length === 0 ? undefined : Math.min(...times);
}

function describeEnd(
  account: string,
  { last, report, runs }: { readonly last: EndedRun } & Pick<Turn, 'report' | 'runs'>,
): AccountEnd {
  if (last.report === undefined) {
    const error = toReportedError(last.error);
    const { exitCode } = error;
    return { account, exitCode, report, error, runs, resumeAt: findReturn(exitCode, [error]) };
  }
  const { exitCode } = last.report;
  const errors = listErrors(last.report);
  const error = last.report.error ?? errors[0];
  return { account, exitCode, report, error, runs, resumeAt: findReturn(exitCode, errors) };
}

/** When running it again makes progress: the quota, a deadline or the server may have ended it. */
function findReturn(exitCode: number, errors: readonly ReportedError[]): string | undefined {
  const ms = findTryLater(exitCode, errors)?.notBeforeMs;
  return ms === undefined ? undefined : new Date(ms).toISOString();
}
