import { type ErrorCode, type ExitCode, toSyncError } from '../../model/errors.ts';
import type { Settings, SyncOptions } from '../../model/settings.ts';
import type { MetricFacts, ScheduleFacts } from '../../metrics/metric-facts.ts';
import { beginRun, followRun } from '../../metrics/run-in-progress.ts';
import type { ScheduleEvent } from '../../schedule/run-schedule.ts';
import { countRun, noteRun, saveMetrics, tellPeople } from '../commands/follow-run.ts';
import { loadSettings } from '../commands/load-settings.ts';
import { type EndedSync, syncOnce } from '../commands/sync-once.ts';
import type { CliContext, GlobalValues } from '../context.ts';
import type { LogWriter } from '../progress/log-writer.ts';
import { countSkipped, describeEnd, describeScheduleEvent } from './describe-schedule.ts';

/** What a run may have been refused for that is mended where a schedule begins: it reads config and key first. */
export const provedByStart: readonly ErrorCode[] = [
  'config_not_found',
  'config_invalid',
  'usage_invalid',
  'key_missing',
];

/** What the syncs of a schedule are made with. */
export interface ScheduledSyncsOptions {
  readonly context: CliContext;
  readonly globals: GlobalValues;
  /** Of each run. */
  readonly sync: SyncOptions;
  readonly metricsFile: string | undefined;
  /** Unless somebody looks at them, metrics are not worth reading the published file. */
  readonly wantsMetrics: boolean;
  readonly log: LogWriter;
  /** Read at the start; each run reads them anew. */
  readonly settings: Settings;
  readonly facts: MetricFacts;
}

/** The runs of one schedule, and what is to be told of them between the runs. */
export class ScheduledSyncs {
  readonly #options: ScheduledSyncsOptions;
  /** The last that could be read: people are told by them when the config is broken. */
  #settings: Settings;
  #facts: MetricFacts;
  #schedule: ScheduleFacts = { run: undefined, nextRunAtMs: undefined, skippedTicks: 0 };
  #lastExitCode: ExitCode | undefined;
  #lastErrorCode: string | undefined;
  #runs = 0;

  constructor(options: ScheduledSyncsOptions) {
    this.#options = options;
    this.#settings = options.settings;
    this.#facts = options.facts;
    const error = options.facts.status?.refused?.error;
    if (error === undefined || provedByStart.includes(error.code)) return;
    this.#lastExitCode = error.exitCode;
    this.#lastErrorCode = error.code;
  }

  get runs(): number {
    return this.#runs;
  }

  get schedule(): ScheduleFacts {
    return this.#schedule;
  }

  /** How the last run of this process ended; before the first, how one was refused that an earlier process made. */
  get lastEnd(): { readonly exitCode: ExitCode; readonly code: string | undefined } | undefined {
    return this.#lastExitCode === undefined
      ? undefined
      : { exitCode: this.#lastExitCode, code: this.#lastErrorCode };
  }

  /** Whether the published file and the state folder could be read. */
  get isStateReadable(): boolean {
    return this.#facts.status !== undefined;
  }

  renderMetrics(): Promise<string> {
    return this.#options.context.engine.renderMetrics(this.#facts, this.#schedule);
  }

  /** One run, from the config to the notices. What fails in it is told, and the schedule goes on. */
  async run(): Promise<void> {
    const { context, log, wantsMetrics } = this.#options;
    this.#schedule = { ...this.#schedule, run: beginRun(context.clock.now()), nextRunAtMs: undefined };
    context.chooseStop('keep-pages');
    const ended = await this.#sync();
    this.#runs += 1;
    for (const line of describeEnd(ended, context.clock.now())) log(line);
    const { report, error } = ended;
    this.#lastExitCode = report === undefined ? error.exitCode : report.exitCode;
    this.#lastErrorCode = report === undefined ? error.code : report.error?.code;
    await noteRun(context, { stateDir: this.#settings.stateDir, guessed: false }, ended);
    if (wantsMetrics) {
      const { facts, warnings } = await countRun(context, this.#settings, ended);
      this.#facts = facts;
      this.#warn(warnings);
    }
    this.#warn(await tellPeople(context, this.#settings, ended));
    this.#schedule = { ...this.#schedule, run: undefined };
    context.chooseStop('close');
  }

  async #sync(): Promise<EndedSync> {
    const { context, globals, sync } = this.#options;
    try {
      this.#settings = await loadSettings(context, globals);
    } catch (thrown) {
      return { startedAtMs: context.clock.now(), error: toSyncError(thrown) };
    }
    return syncOnce(context, globals, this.#settings, sync, (event) => {
      const { run } = this.#schedule;
      if (run !== undefined) this.#schedule = { ...this.#schedule, run: followRun(run, event) };
    });
  }

  /** Takes note of what the schedule tells, and says it. */
  async follow(event: ScheduleEvent): Promise<void> {
    const { context, log } = this.#options;
    const { skippedTicks } = this.#schedule;
    this.#schedule = { ...this.#schedule, skippedTicks: skippedTicks + countSkipped(event) };
    if (event.type === 'waiting') this.#schedule = { ...this.#schedule, nextRunAtMs: event.nextRunAtMs };
    const line = describeScheduleEvent(event, context.clock.now());
    if (line !== undefined) log(line);
    // Each wait follows a run, or the start.
    if (event.type === 'waiting') await this.save(this.#schedule);
  }

  /** Writes the metrics file; without a schedule, as one that has ended. */
  async save(schedule: ScheduleFacts | undefined): Promise<void> {
    const { context, metricsFile } = this.#options;
    this.#warn(await saveMetrics(context, metricsFile, this.#facts, schedule));
  }

  #warn(warnings: readonly string[]): void {
    for (const message of warnings)
      this.#options.log({ level: 'warn', message, fields: { type: 'warning', message } });
  }
}
