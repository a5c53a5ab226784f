import { describe, expect, it } from 'vitest';
import { type CronSchedule, parseCron } from '../../src/schedule/cron-schedule.ts';
import { runSchedule, type ScheduleEvent, type ScheduleOptions } from '../../src/schedule/run-schedule.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const START_MS = Date.parse('2026-11-20T12:10:00Z');
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** What a schedule did until it was stopped, with times as `HH:MM:SS`. */
async function play(
  expression: string | CronSchedule,
  options: {
    readonly runs: number;
    /** How long each run takes. */
    readonly takesMs?: readonly number[];
    readonly jitterMs?: number;
    readonly random?: () => number;
    readonly atStart?: ScheduleOptions['atStart'];
    /** What each run asks for; 0: another try at any time. */
    readonly later?: readonly (number | undefined)[];
    readonly onWaiting?: (clock: ReturnType<typeof createVirtualClock>) => void;
    readonly onRun?: (clock: ReturnType<typeof createVirtualClock>) => void;
  },
) {
  const clock = createVirtualClock({ startMs: START_MS, idleRounds: 0 });
  const controller = new AbortController();
  const began: string[] = [];
  const events: ScheduleEvent[] = [];
  let running = 0;
  await runSchedule({
    schedule: typeof expression === 'string' ? parseCron(expression, 'UTC', START_MS) : expression,
    jitterMs: options.jitterMs ?? 0,
    atStart: options.atStart,
    async run() {
      running += 1;
      expect(running).toBe(1);
      began.push(formatTime(clock.now()));
      options.onRun?.(clock);
      await clock.sleep(options.takesMs?.[began.length - 1] ?? 0);
      running -= 1;
      if (began.length === options.runs) controller.abort(new Error('enough'));
      const notBeforeMs = options.later?.[began.length - 1];
      return notBeforeMs === undefined ? undefined : { notBeforeMs };
    },
    onEvent(event) {
      events.push(event);
      if (event.type === 'waiting') options.onWaiting?.(clock);
      return Promise.resolve();
    },
    clock,
    random: options.random ?? (() => 0),
    signal: controller.signal,
  });
  return { began, events, clock };
}

/** Moves the wall clock by one of these at each wait. */
function stepAtWaits(...stepsMs: readonly number[]) {
  const left = [...stepsMs];
  return (clock: ReturnType<typeof createVirtualClock>) => clock.stepWall(left.shift() ?? 0);
}

function formatTime(ms: number): string {
  return new Date(ms).toISOString().slice(11, 19);
}

describe('a schedule', () => {
  it('runs at its times', async () => {
    const { began } = await play('30 * * * *', { runs: 3 });
    expect(began).toEqual(['12:30:00', '13:30:00', '14:30:00']);
  });

  it('begins later by the jitter, and never past half way to the next time', async () => {
    const half = await play('30 * * * *', { runs: 2, jitterMs: 10 * MINUTE_MS, random: () => 0.5 });
    expect(half.began).toEqual(['12:35:00', '13:35:00']);
    const most = await play('30 * * * *', { runs: 2, jitterMs: 5 * HOUR_MS, random: () => 0.999_999 });
    expect(most.began.map((time) => time.slice(0, 5))).toEqual(['12:59', '13:59']);
  });

  it('skips the times that pass during a run, and says which', async () => {
    const { began, events } = await play('*/10 * * * *', { runs: 2, takesMs: [34 * MINUTE_MS] });
    expect(began).toEqual(['12:20:00', '13:00:00']);
    expect(events.filter(({ type }) => type === 'skipped')).toEqual([
      {
        type: 'skipped',
        ticksMs: ['12:30', '12:40', '12:50'].map((time) => Date.parse(`2026-11-20T${time}:00Z`)),
        more: 0,
      },
    ]);
  });

  it('names three of them at most, and counts the others', async () => {
    const { events } = await play('* * * * *', { runs: 2, takesMs: [6 * HOUR_MS] });
    expect(events.find(({ type }) => type === 'skipped')).toMatchObject({
      ticksMs: { length: 3 },
      more: 357,
    });
  });

  it.each(['catch-up', 'asked'] as const)('runs once at the start when told so: %s', async (atStart) => {
    const { began, events } = await play('30 * * * *', { runs: 2, atStart, jitterMs: HOUR_MS });
    expect(began).toEqual(['12:10:00', '12:30:00']);
    expect(events[0]).toEqual({ type: 'running', reason: atStart });
    expect(events.filter(({ type }) => type === 'skipped')).toEqual([]);
  });

  it('waits for times that are further away than a timer reaches', async () => {
    const { began, clock } = await play('30 12 16 12 *', { runs: 1 });
    expect(began).toEqual(['12:30:00']);
    expect(new Date(clock.now()).toISOString()).toBe('2026-12-16T12:30:00.000Z');
  });

  it('runs once, at once, when the wall clock was set past its time, and continues from there', async () => {
    let isSet = false;
    const { began, events } = await play('30 * * * *', {
      runs: 2,
      onWaiting(clock) {
        if (!isSet) clock.stepWall(3 * HOUR_MS);
        isSet = true;
      },
    });
    expect(began).toEqual(['15:10:00', '15:30:00']);
    expect(events.find(({ type }) => type === 'skipped')).toMatchObject({ ticksMs: { length: 2 } });
  });

  it('tries a run again with growing pauses until one needs no other try', async () => {
    const { began, events } = await play('30 18 * * *', { runs: 6, later: [0, 0, 0, 0] });
    expect(began).toEqual(['18:30:00', '18:30:30', '18:31:30', '18:33:30', '18:37:30', '18:30:00']);
    expect(events.filter(({ type }) => type === 'running')).toEqual(
      ['due', 'again', 'again', 'again', 'again', 'due'].map((reason) => ({ type: 'running', reason })),
    );
  });

  it('tries a run again until its next time comes, at most half an hour apart', async () => {
    const later = Array.from({ length: 20 }, () => 0);
    const { began } = await play('0 13,16 * * *', { runs: 13, later });
    expect(began.slice(5)).toEqual([
      '13:15:30',
      '13:31:30',
      '14:01:30',
      '14:31:30',
      '15:01:30',
      '15:31:30',
      '16:00:00',
      '16:00:30',
    ]);
  });

  it('retries a run no sooner than it is useful, and leaves it to the next time where that is later', async () => {
    const at = (time: string) => Date.parse(`2026-11-20T${time}Z`);
    const { began } = await play('0 13,16 * * *', {
      runs: 4,
      later: [at('14:00:00'), at('14:00:00'), at('17:00:00')],
    });
    expect(began).toEqual(['13:00:00', '14:00:00', '14:01:00', '16:00:00']);
  });

  it('makes the run of its next time when it slept through the pause', async () => {
    const { began, events } = await play('30 * * * *', {
      runs: 3,
      later: [0],
      onWaiting: (clock) => {
        if (clock.now() === START_MS + 20 * MINUTE_MS) clock.stepWall(5 * HOUR_MS);
      },
    });
    expect(began).toEqual(['12:30:00', '17:30:00', '18:30:00']);
    expect(events.filter(({ type }) => type === 'skipped')).toHaveLength(1);
  });

  it('runs at the next time after a clock that was ahead is corrected while it waits', async () => {
    const { began, events, clock } = await play('30 12 20 * *', {
      runs: 2,
      jitterMs: 10 * MINUTE_MS,
      random: () => 0.5,
      // The first run is that of a clock that went ahead after the start, the second waits for the month after.
      onWaiting: stepAtWaits(40 * DAY_MS, -40 * DAY_MS),
    });
    expect(began).toEqual(['12:10:00', '12:35:00']);
    expect(new Date(clock.now()).toISOString()).toBe('2026-11-20T12:35:00.000Z');
    expect(events.filter(({ type }) => type === 'set-back')).toEqual([
      { type: 'set-back', byMs: 40 * DAY_MS },
    ]);
    expect(events.filter(({ type }) => type === 'waiting').at(-1)).toEqual({
      type: 'waiting',
      nextRunAtMs: START_MS + 25 * MINUTE_MS,
    });
  });

  it('runs at the next time after a clock that was ahead is corrected during a run', async () => {
    const { began, events, clock } = await play('30 * * * *', {
      runs: 2,
      atStart: 'asked',
      onRun: (given) => {
        if (given.now() === START_MS) given.stepWall(-40 * DAY_MS);
      },
    });
    expect(began).toEqual(['12:10:00', '12:30:00']);
    expect(new Date(clock.now()).toISOString()).toBe('2026-10-11T12:30:00.000Z');
    expect(events.filter(({ type }) => type === 'set-back')).toHaveLength(1);
  });

  it('keeps to its time when the clock is set back by little, or to before the same time', async () => {
    const small = await play('30 * * * *', {
      runs: 1,
      onWaiting: stepAtWaits(-4 * MINUTE_MS),
    });
    expect(small.events.filter(({ type }) => type === 'set-back')).toEqual([]);
    const randoms = [0.5, 0.9];
    const same = await play('30 18 * * *', {
      runs: 1,
      jitterMs: 10 * MINUTE_MS,
      random: () => randoms.shift() ?? 0,
      onWaiting: stepAtWaits(-6 * HOUR_MS),
    });
    expect(same.began).toEqual(['18:35:00']);
  });

  it('keeps the pause before a retry when the clock is set back', async () => {
    const { began, events, clock } = await play('30 18 * * *', {
      runs: 3,
      later: [0],
      onWaiting: stepAtWaits(0, -40 * DAY_MS),
    });
    expect(began).toEqual(['18:30:00', '18:30:30', '18:30:00']);
    expect(new Date(clock.now()).toISOString()).toBe('2026-10-12T18:30:00.000Z');
    expect(events.filter(({ type }) => type === 'running')).toEqual(
      ['due', 'again', 'due'].map((reason) => ({ type: 'running', reason })),
    );
  });

  it('leaves a retry to the next time where that comes first after the clock is set back', async () => {
    const { began, events } = await play('30 18 * * *', {
      runs: 2,
      later: [START_MS + 24 * HOUR_MS],
      onWaiting: stepAtWaits(0, -HOUR_MS),
    });
    expect(began).toEqual(['18:30:00', '18:30:00']);
    expect(events.filter(({ type }) => type === 'running').at(-1)).toEqual({
      type: 'running',
      reason: 'due',
    });
  });

  it('ends at once while it waits to try again', async () => {
    const clock = createVirtualClock({ startMs: START_MS });
    const controller = new AbortController();
    let runs = 0;
    await runSchedule({
      schedule: parseCron('@yearly', 'UTC', START_MS),
      jitterMs: 0,
      atStart: 'asked',
      run: () => Promise.resolve(++runs > 1 ? undefined : { notBeforeMs: undefined }),
      onEvent: (event) => {
        if (event.type === 'waiting') setImmediate(() => controller.abort(new Error('stop')));
        return Promise.resolve();
      },
      clock,
      random: () => 0,
      signal: controller.signal,
    });
    expect({ runs, sleepers: clock.sleeperCount }).toEqual({ runs: 1, sleepers: 0 });
  });

  it('ends at once while it waits', async () => {
    const clock = createVirtualClock({ startMs: START_MS });
    const controller = new AbortController();
    const events: string[] = [];
    await runSchedule({
      schedule: parseCron('@yearly', 'UTC', START_MS),
      jitterMs: 0,
      atStart: undefined,
      run: () => Promise.reject(new Error('nothing was due')),
      onEvent: ({ type }) => {
        events.push(type);
        setImmediate(() => controller.abort(new Error('stop')));
        return Promise.resolve();
      },
      clock,
      random: () => 0,
      signal: controller.signal,
    });
    expect(events).toEqual(['waiting']);
    expect(clock.sleeperCount).toBe(0);
  });

  it('ends when no time is left', async () => {
    const times = [START_MS + MINUTE_MS];
    const schedule = {
      expression: 'once',
      timezone: 'UTC',
      next: (afterMs: number) => times.find((timeMs) => timeMs > afterMs),
    };
    const { began, events } = await play(schedule, { runs: 5 });
    expect(began).toEqual(['12:11:00']);
    expect(events.at(-1)).toEqual({ type: 'ended' });
  });
});
