import type { Clock } from '../model/clock.ts';
import type { CronSchedule } from './cron-schedule.ts';
import { WallWatch } from './wall-watch.ts';

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
  /** The wall clock was set back, so that the next time may be an earlier one. */
  | { readonly type: 'set-back'; readonly byMs: number }
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

/** What a schedule runs with, and what notices a change of its clock. */
interface WatchedOptions extends ScheduleOptions {
  readonly wall: WallWatch;
}

/** Runs whenever the schedule says, one run at a time, until the signal aborts. */
export async function runSchedule(given: ScheduleOptions): Promise<void> {
  const { schedule, atStart, clock, signal, onEvent } = given;
  const options = { ...given, wall: new WallWatch(clock) };
  let dueMs = schedule.next(clock.now());
  if (atStart !== undefined) dueMs = await runOnce(options, atStart, dueMs);
  while (!signal.aborted) {
    if (dueMs === undefined) {
      await onEvent({ type: 'ended' });
      return;
    }
    const tickMs = await waitForTick(options, dueMs);
    if (!signal.aborted) dueMs = await runOnce(options, 'due', schedule.next(tickMs));
  }
}

/** Waits for a time of the schedule, or for an earlier one where the clock is set back; returns the one that came. */
async function waitForTick(options: WatchedOptions, dueMs: number): Promise<number> {
  let tickMs = dueMs;
  let startMs = tickMs + delayOf(options, tickMs);
  for (;;) {
    await options.onEvent({ type: 'waiting', nextRunAtMs: startMs });
    const backMs = await waitUntil(startMs, options);
    if (backMs === 0) return tickMs;
    const earlierMs = await findEarlier(options, backMs, tickMs);
    if (earlierMs !== tickMs) startMs = earlierMs + delayOf(options, earlierMs);
    tickMs = earlierMs;
  }
}

/** Runs until a run needs no retry, or the next time has come; returns the next time. */
async function runOnce(
  options: WatchedOptions,
  reason: TickReason,
  followingMs: number | undefined,
): Promise<number | undefined> {
  const { run, onEvent, signal, wall } = options;
  let nextReason = reason;
  let nextMs = followingMs;
  for (let tries = 1; ; tries += 1) {
    await onEvent({ type: 'running', reason: nextReason });
    const later = await run(nextReason);
    const backMs = wall.takeStepBack();
    if (backMs > 0) nextMs = await findEarlier(options, backMs, nextMs);
    const againMs = later === undefined ? undefined : chooseRetry(options, later, tries);
    if (againMs === undefined || signal.aborted) return skipPassed(options, nextMs);
    const waited = await waitForRetry(options, againMs, nextMs);
    if (!waited.isRetry) return waited.nextMs;
    nextMs = waited.nextMs;
    nextReason = 'again';
  }
}

/** What comes after the wait for a retry: the retry, or only the next time. */
interface RetryWait {
  readonly isRetry: boolean;
  readonly nextMs: number | undefined;
}

/** Waits to retry a run, unless the next time comes first. */
async function waitForRetry(
  options: WatchedOptions,
  againMs: number,
  followingMs: number | undefined,
): Promise<RetryWait> {
  const { clock, onEvent, signal } = options;
  let atMs = againMs;
  let nextMs = followingMs;
  for (;;) {
    if (nextMs !== undefined && atMs >= nextMs)
      return { isRetry: false, nextMs: await skipPassed(options, nextMs) };
    await onEvent({ type: 'waiting', nextRunAtMs: atMs, again: true });
    const backMs = await waitUntil(atMs, options);
    if (backMs === 0) break;
    nextMs = await findEarlier(options, backMs, nextMs);
    // The pause has a length, whatever time the wall clock shows.
    atMs -= backMs;
  }
  // If the machine slept through the next time, that run is due now.
  return { isRetry: !signal.aborted && (nextMs === undefined || nextMs > clock.now()), nextMs };
}

/** The next time after the clock was set back: that of before may have been counted from a clock that was ahead. */
async function findEarlier<Due extends number | undefined>(
  { schedule, clock, onEvent }: WatchedOptions,
  byMs: number,
  dueMs: Due,
): Promise<number | Due> {
  await onEvent({ type: 'set-back', byMs });
  const nextMs = schedule.next(clock.now());
  return nextMs !== undefined && (dueMs === undefined || nextMs < dueMs) ? nextMs : dueMs;
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

/** Returns how far the wall clock was set back where that ends the wait, and 0 where its time has come. */
async function waitUntil(atMs: number, { clock, signal, wall }: WatchedOptions): Promise<number> {
  while (!signal.aborted) {
    const backMs = wall.takeStepBack();
    if (backMs > 0) return backMs;
    const leftMs = atMs - clock.now();
    if (leftMs <= 0) break;
    await clock.sleep(Math.min(leftMs, LONGEST_SLEEP_MS), signal).catch(() => undefined);
  }
  return 0;
}
