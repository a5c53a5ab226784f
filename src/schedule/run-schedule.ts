import type { Clock } from '../model/clock.ts';
import type { CronSchedule } from './cron-schedule.ts';

/**
 * Why a run starts: it is due, one was missed while nothing ran, it was asked for, or the last one has to be
 * retried.
 */
export type TickReason = 'due' | 'catch-up' | 'asked' | 'again';

/** What a run asks of the schedule when it could not be completed. */
export interface TryLater {
  /** A retry is useless before this time; epoch ms. */
  readonly notBeforeMs: number | undefined;
}

/** What a schedule reports while it runs. */
export type ScheduleEvent =
  /** `again`: it waits to retry the last run, not for a time of the schedule. */
  | { readonly type: 'waiting'; readonly nextRunAtMs: number; readonly again?: true }
  | { readonly type: 'running'; readonly reason: TickReason }
  /** Times that passed during a run; `more` of them are not in the list. */
  | { readonly type: 'skipped'; readonly ticksMs: readonly number[]; readonly more: number }
  /** The schedule has no dates left. */
  | { readonly type: 'ended' };

export interface ScheduleOptions {
  readonly schedule: CronSchedule;
  /** Each run starts up to this long after its time, but never later than half way to the next. */
  readonly jitterMs: number;
  /** A run at the start, and why. */
  readonly atStart: Exclude<TickReason, 'due' | 'again'> | undefined;
  /** Runs once, to its end; it reports its own failures. */
  readonly run: (reason: TickReason) => Promise<TryLater | undefined>;
  readonly onEvent: (event: ScheduleEvent) => Promise<void>;
  readonly clock: Clock;
  /** 0 to 1, as Math.random. */
  readonly random: () => number;
  /** Ends the schedule: at once while it waits, or with the current run. */
  readonly signal: AbortSignal;
}

/** Runs whenever the schedule says, one run at a time, until the signal aborts. */
export async function runSchedule(options: ScheduleOptions): Promise<void> {
  const { schedule, atStart, clock, signal, onEvent } = options;
  let dueMs = schedule.next(clock.now());
  if (atStart !== undefined) dueMs = await runOnce(options, atStart, dueMs);
  while (!signal.aborted) {
    if (dueMs === undefined) {
      await onEvent({ type: 'ended' });
      return;
    }
    const startMs = dueMs + delayOf(options, dueMs);
    await onEvent({ type: 'waiting', nextRunAtMs: startMs });
    await waitUntil(startMs, clock, signal);
    if (!signal.aborted) dueMs = await runOnce(options, 'due', schedule.next(dueMs));
  }
}

/** Runs until a run needs no retry, or the next time has come; returns the next time. */
async function runOnce(
  options: ScheduleOptions,
  reason: TickReason,
  followingMs: number | undefined,
): Promise<number | undefined> {
  const { clock, run, onEvent, signal } = options;
  let nextReason = reason;
  for (let tries = 1; ; tries += 1) {
    await onEvent({ type: 'running', reason: nextReason });
    const later = await run(nextReason);
    const againMs = later === undefined ? undefined : chooseRetry(options, later, tries);
    const isInTime = againMs !== undefined && (followingMs === undefined || againMs < followingMs);
    if (!isInTime || signal.aborted) return skipPassed(options, followingMs);
    await onEvent({ type: 'waiting', nextRunAtMs: againMs, again: true });
    await waitUntil(againMs, clock, signal);
    // If the machine slept through the next time, that run is due now.
    if (signal.aborted || (followingMs !== undefined && followingMs <= clock.now())) return followingMs;
    nextReason = 'again';
  }
}

const FIRST_PAUSE_MS = 30_000;
const LONGEST_PAUSE_MS = 30 * 60_000;

/** When to retry: after a pause that doubles with each attempt, and not before it can help. */
function chooseRetry(
  { clock, jitterMs, random }: ScheduleOptions,
  { notBeforeMs = 0 }: TryLater,
  tries: number,
): number {
  const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (tries - 1));
  const atMs = Math.max(notBeforeMs, clock.now() + pauseMs);
  return atMs + Math.floor(random() * Math.min(jitterMs, pauseMs));
}

/** Reports which times passed during a run, and returns the next one. */
async function skipPassed(
  { schedule, clock, onEvent, signal }: ScheduleOptions,
  followingMs: number | undefined,
): Promise<number | undefined> {
  const nowMs = clock.now();
  if (followingMs === undefined || followingMs > nowMs || signal.aborted) return followingMs;
  const ticksMs: number[] = [];
  let more = 0;
  let tickMs: number | undefined = followingMs;
  while (tickMs !== undefined && tickMs <= nowMs) {
    if (ticksMs.length < MOST_LISTED) ticksMs.push(tickMs);
    else more += 1;
    // Do not count every minute of a machine that slept for a year.
    if (more >= MOST_COUNTED) break;
    tickMs = schedule.next(tickMs);
  }
  await onEvent({ type: 'skipped', ticksMs, more });
  return schedule.next(nowMs);
}

const MOST_LISTED = 3;
const MOST_COUNTED = 10_000;

/** A late tick gets no additional jitter, and two neighbours never change their order. */
function delayOf({ schedule, jitterMs, random, clock }: ScheduleOptions, dueMs: number): number {
  if (dueMs <= clock.now()) return 0;
  const followingMs = schedule.next(dueMs);
  const roomMs = followingMs === undefined ? jitterMs : (followingMs - dueMs) / 2;
  return Math.floor(random() * Math.min(jitterMs, roomMs));
}

// Setting the clock, or sleep, moves the wall time without the timer, so it is checked again.
const LONGEST_SLEEP_MS = 60_000;

async function waitUntil(atMs: number, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const leftMs = atMs - clock.now();
    if (leftMs <= 0) return;
    await clock.sleep(Math.min(leftMs, LONGEST_SLEEP_MS), signal).catch(() => undefined);
  }
}
