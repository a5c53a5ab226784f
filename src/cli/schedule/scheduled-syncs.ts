import { type ErrorCode, type ExitCode, toSyncError } from '../../model/errors.ts';
import { findTryLater, isOutage, listErrors } from '../../model/outage.ts';
import { type EndedRun, type RunObserver, tellEnd } from '../../model/run-observer.ts';
import { type RunReport, toReportedError } from '../../model/run-report.ts';
import type { Settings, SyncOptions } from '../../model/settings.ts';
import type { MetricFacts, ScheduleFacts } from '../../metrics/metric-facts.ts';
import type { TickReason, TryLater } from '../../schedule/run-schedule.ts';
import { countMetrics, recordRefusals, saveMetrics, sendNotices } from '../steps/follow-run.ts';
import { followTraces } from '../steps/follow-telemetry.ts';
import { loadSettings } from '../steps/load-settings.ts';
import { syncOnce } from '../steps/sync-once.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import type { LogWriter } from '../progress/log-writer.ts';
import { logWarnings } from '../progress/open-log.ts';
import { describeEnd } from './describe-schedule.ts';
import { isReadable } from './is-readable.ts';
import { type LastEnd, type ScheduledRuns, ScheduleRecord } from './schedule-record.ts';

/**
 * Causes of a refused run that are known to be fixed once a schedule starts, because it reads config and key
 * first.
 */
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
  /** The published file is read for metrics only if somebody collects them. */
  readonly wantsMetrics: boolean;
  readonly log: LogWriter;
  /** Read at the start; each run reads them again. */
  readonly settings: Settings;
  readonly facts: MetricFacts;
}

/** The runs of one schedule, and what is reported between them. */
export class ScheduledSyncs implements ScheduledRuns {
  readonly #options: ScheduledSyncsOptions;
  /** The last settings that could be read: notices use them when the config is broken. */
  #settings: Settings;
  #facts: MetricFacts;
  readonly record = new ScheduleRecord();
  #lastExitCode: ExitCode | undefined;
  #lastErrorCode: string | undefined;
  #runs = 0;
  /** Streams that the last run did not complete, for a retry. */
  #unfinished: readonly string[] | undefined;

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

  get lastEnd(): LastEnd | undefined {
    return this.#lastExitCode === undefined
      ? undefined
      : { exitCode: this.#lastExitCode, code: this.#lastErrorCode };
  }

  get isStateReadable(): boolean {
    return isReadable(this.#facts);
  }

  renderMetrics(): Promise<string> {
    return this.#options.context.engine.renderMetrics(this.#facts, this.record.facts);
  }

  async run(reason: TickReason): Promise<TryLater | undefined> {
    const { context, log } = this.#options;
    this.record.begin(context.clock.now());
    const traces = followTraces(context, {});
    const ended = await this.#sync(reason, traces);
    this.#runs += 1;
    for (const line of describeEnd(ended, context.clock.now())) log(line);
    const { report, error } = ended;
    const errors = report === undefined ? [toReportedError(error)] : listErrors(report);
    this.#lastExitCode = report === undefined ? error.exitCode : report.exitCode;
    this.#lastErrorCode = report === undefined ? error.code : (report.error ?? errors[0])?.code;
    this.record.judge(ended.startedAtMs, isOutage(this.#lastExitCode, errors));
    logWarnings(this.#options.log, await tellEnd(this.#listObservers(traces), ended));
    this.record.end();
    if (report !== undefined || reason !== 'again') this.#unfinished = report && listUnfinished(report);
    return findTryLater(this.#lastExitCode, errors);
  }

  async #sync(reason: TickReason, traces: readonly RunObserver[]): Promise<EndedRun> {
    const { context, globals } = this.#options;
    try {
      this.#settings = await loadSettings(context, globals);
    } catch (thrown) {
      return { startedAtMs: context.clock.now(), error: toSyncError(thrown) };
    }
    const sync = this.#chooseOptions(reason);
    return syncOnce(context, globals, this.#settings, {
      ...sync,
      observers: [{ name: 'metrics', onEvent: (event) => this.record.followRun(event) }, ...traces],
    });
  }

  /** Those of the end of a run. */
  #listObservers(traces: readonly RunObserver[]): readonly RunObserver[] {
    const { context, wantsMetrics } = this.#options;
    const settings = this.#settings;
    const keep = (facts: MetricFacts) => {
      this.#facts = facts;
      return Promise.resolve([]);
    };
    return [
      ...traces,
      recordRefusals(context, { stateDir: settings.stateDir, guessed: false }),
      ...(wantsMetrics ? [countMetrics(context, settings, keep)] : []),
      sendNotices(context, settings),
    ];
  }

  /** A retry does not force streams that the last run completed: with a short quota it would never end. */
  #chooseOptions(reason: TickReason): SyncOptions {
    const { sync } = this.#options;
    if (reason !== 'again' || sync.force !== true || this.#unfinished === undefined) return sync;
    const names = this.#settings.streams.map(({ name }) => name);
    const left = this.#unfinished.filter((name) => names.includes(name));
    const { force: _force, ...rest } = sync;
    return left.length === 0 ? rest : { ...sync, streams: left };
  }

  async save(schedule: ScheduleFacts | undefined): Promise<void> {
    const { context, metricsFile } = this.#options;
    logWarnings(this.#options.log, [
      ...(await saveMetrics(context, metricsFile, this.#facts, schedule)),
      ...((await context.telemetry?.flush()) ?? []),
    ]);
  }
}

function listUnfinished({ streams }: RunReport): readonly string[] {
  const left = streams.filter(({ status }) => status !== 'complete' && status !== 'fresh');
  return [...new Set(left.map(({ stream }) => stream))];
}
