import type { ScheduleFacts } from '../../metrics/metric-facts.ts';
import { beginRun, followRun } from '../../metrics/run-in-progress.ts';
import type { Clock } from '../../model/clock.ts';
import type { ExitCode } from '../../model/errors.ts';
import type { ProgressEvent } from '../../model/progress.ts';
import type { ScheduleEvent, TickReason, TryLater } from '../../schedule/run-schedule.ts';
import type { LogLine } from '../progress/describe-event.ts';
import type { LogWriter } from '../progress/log-writer.ts';
import { countSkipped, describeScheduleEvent } from './describe-schedule.ts';

/** How a run of a schedule ended, for probes. */
export interface LastEnd {
  readonly exitCode: ExitCode;
  readonly code: string | undefined;
}

/** The runs of a schedule, of one account or of several, and what is reported between them. */
export interface ScheduledRuns {
  /** Runs that ended. */
  readonly runs: number;
  /** What the schedule has to tell of itself. */
  readonly record: ScheduleRecord;
  /**
   * How the last run of this process ended; before the first one, the refused run of an earlier process, if any.
   */
  readonly lastEnd: LastEnd | undefined;
  /** Whether what was published and the state folder could be read. */
  readonly isStateReadable: boolean;
  renderMetrics(): Promise<string>;
  /** One run, from the config to the notices. A failure is reported, and the schedule continues. */
  run(reason: TickReason): Promise<TryLater | undefined>;
  /** Writes the metrics file; without a schedule, as one that has ended. */
  save(schedule: ScheduleFacts | undefined): Promise<void>;
}

/** Keeps what a schedule reports, logs it, and writes the metrics file before each wait. */
export async function followSchedule(
  { record, save }: Pick<ScheduledRuns, 'record'> & { readonly save: () => Promise<void> },
  event: ScheduleEvent,
  { clock, log }: { readonly clock: Clock; readonly log: LogWriter },
): Promise<void> {
  const line = record.follow(event, clock);
  // Each wait follows a run, the start, or a change of the clock. A reader of the line finds the file.
  if (event.type === 'waiting') await save();
  if (line !== undefined) log(line);
}

/** What a schedule has to tell of itself. */
export class ScheduleRecord {
  #facts: ScheduleFacts = {
    run: undefined,
    nextRunAtMs: undefined,
    skippedTicks: 0,
    outageSinceMs: undefined,
  };

  get facts(): ScheduleFacts {
    return this.#facts;
  }

  begin(nowMs: number): void {
    this.#facts = { ...this.#facts, run: beginRun(nowMs), nextRunAtMs: undefined };
  }

  followRun(event: ProgressEvent): void {
    const { run } = this.#facts;
    if (run !== undefined) this.#facts = { ...this.#facts, run: followRun(run, event) };
  }

  /** `isOut`: network or server ended the run. */
  judge(startedAtMs: number, isOut: boolean): void {
    const { outageSinceMs = startedAtMs } = this.#facts;
    this.#facts = { ...this.#facts, outageSinceMs: isOut ? outageSinceMs : undefined };
  }

  end(): void {
    this.#facts = { ...this.#facts, run: undefined };
  }

  /** Keeps what the schedule reports; returns its line for the log, if it needs one. */
  follow(event: ScheduleEvent, clock: Clock): LogLine | undefined {
    const skippedTicks = this.#facts.skippedTicks + countSkipped(event);
    this.#facts = { ...this.#facts, skippedTicks };
    if (event.type === 'waiting') this.#facts = { ...this.#facts, nextRunAtMs: event.nextRunAtMs };
    return describeScheduleEvent(event, clock.now());
  }
}
