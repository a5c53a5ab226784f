import type { MetricFacts, ScheduleFacts } from '../../metrics/metric-facts.ts';
import type { AccountEnd, AccountsReport } from '../../model/accounts-report.ts';
import { type SyncError, toSyncError } from '../../model/errors.ts';
import { findTryLater, isOutage, listErrors } from '../../model/outage.ts';
import { type ReportedError, toReportedError } from '../../model/run-report.ts';
import type { SyncOptions } from '../../model/settings.ts';
import type { TickReason, TryLater } from '../../schedule/run-schedule.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import type { ToldSettings } from '../frame/engine.ts';
import type { LogWriter } from '../progress/log-writer.ts';
import { levelOfExit } from './level-of-exit.ts';
import { logWarnings } from '../progress/open-log.ts';
import { summarizeAccounts } from '../../render/render-accounts-sync.ts';
import { type ChosenAccounts, chooseAccounts, listChosen } from '../steps/choose-accounts.ts';
import { isMistyped, refuseAccounts, saveAccountsMetrics } from '../steps/follow-run.ts';
import { syncAccounts } from '../steps/sync-accounts.ts';
import { tellAccounts } from '../steps/tell-accounts.ts';
import { isReadable } from './is-readable.ts';
import { type LastEnd, type ScheduledRuns, ScheduleRecord } from './schedule-record.ts';

/** What the syncs of a schedule are made with, for a config with accounts. */
export interface ScheduledAccountsOptions {
  readonly context: CliContext;
  readonly globals: GlobalValues;
  /** As on the command line; each run finds their accounts in the config as it is then. */
  readonly patterns: readonly string[] | undefined;
  readonly sync: SyncOptions;
  readonly metrics: AccountMetricsTarget;
  readonly log: LogWriter;
  /** By account, before the first run. */
  readonly facts: ReadonlyMap<string, MetricFacts>;
  /** As the config lists them at the start. */
  readonly known: ChosenAccounts;
  /** By account, where its config could be read at the start. */
  readonly last: ReadonlyMap<string, ToldSettings>;
}

/** Where the metrics of accounts go. */
export interface AccountMetricsTarget {
  readonly file: string | undefined;
  /** What was published is read for metrics only if somebody collects them. */
  readonly isWanted: boolean;
  readonly withoutStreams: boolean;
}

/** The runs of one schedule over all accounts of a config, and what is reported between them. */
export class ScheduledAccounts implements ScheduledRuns {
  readonly #options: ScheduledAccountsOptions;
  readonly record = new ScheduleRecord();
  readonly #facts: Map<string, MetricFacts>;
  /** The last list of accounts that could be read, and their last settings: notices use them when the config is broken. */
  #known: ChosenAccounts;
  readonly #settings: Map<string, ToldSettings>;
  #last: LastEnd | undefined;
  #runs = 0;
  /** Those of the last run that have to be tried again. */
  #left: ReadonlyMap<string, AccountEnd> = new Map();

  constructor(options: ScheduledAccountsOptions) {
    this.#options = options;
    this.#facts = new Map(options.facts);
    this.#known = options.known;
    this.#settings = new Map(options.last);
  }

  get runs(): number {
    return this.#runs;
  }

  get lastEnd(): LastEnd | undefined {
    return this.#last;
  }

  /** Accounts fail by themselves; only if none can be read, something is wrong with all of them. */
  get isStateReadable(): boolean {
    return [...this.#facts.values()].some(isReadable);
  }

  renderMetrics(): Promise<string> {
    const { context, metrics } = this.#options;
    const { withoutStreams } = metrics;
    return context.engine.renderAccountMetrics(this.#facts, { schedule: this.record.facts, withoutStreams });
  }

  async run(reason: TickReason): Promise<TryLater | undefined> {
    const { context } = this.#options;
    const startedAtMs = context.clock.now();
    this.record.begin(startedAtMs);
    const later = await this.#sync(reason).then(
      (report) => this.#settle(report, startedAtMs),
      (thrown: unknown) => this.#refuse(toSyncError(thrown), startedAtMs),
    );
    this.#runs += 1;
    this.record.end();
    return later;
  }

  async #sync(reason: TickReason): Promise<AccountsReport> {
    const { context, globals, patterns, sync, metrics } = this.#options;
    const known = await this.#choose(patterns);
    this.#known = known;
    const isAgain = reason === 'again' && this.#left.size > 0;
    const chosen = isAgain ? known.chosen.filter(({ name }) => this.#left.has(name)) : known.chosen;
    const { report, facts, settings } = await syncAccounts(
      context,
      globals,
      { ...known, chosen: chosen.length === 0 ? known.chosen : chosen },
      {
        sync,
        wantsMetrics: metrics.isWanted,
        earlier: isAgain ? this.#left : undefined,
        last: this.#settings,
      },
    );
    mergeInto(this.#facts, facts, known);
    mergeInto(this.#settings, settings, known);
    return report;
  }

  async #choose(patterns: readonly string[] | undefined): Promise<ChosenAccounts> {
    const { context, globals } = this.#options;
    const known = await chooseAccounts(context, globals, patterns);
    if (known !== undefined) return known;
    const { usageError } = await import('../options/usage-error.ts');
    throw usageError('the config no longer has accounts', 'Restart the schedule to sync it as one.');
  }

  #settle(report: AccountsReport, startedAtMs: number): TryLater | undefined {
    const { exitCode, accounts, error } = report;
    const failed = accounts.find((one) => one.exitCode !== 0);
    this.#last = { exitCode, code: (failed?.error ?? error)?.code };
    this.record.judge(
      startedAtMs,
      accounts.every((one) => isOutage(one.exitCode, errorsOf(one))),
    );
    const level = levelOfExit(exitCode);
    const code = exitCode === 0 ? '' : `, exit code ${exitCode}`;
    const fields = {
      type: 'run-ended',
      exitCode,
      durationMs: this.#options.context.clock.now() - startedAtMs,
    };
    this.#options.log({ level, message: `${summarizeAccounts(report)}${code}`, fields });
    if (error !== undefined) this.#logJoint(error);
    logWarnings(this.#options.log, report.warnings);
    const later = accounts.flatMap((one) => {
      const found = findTryLater(one.exitCode, errorsOf(one));
      return found === undefined ? [] : [{ one, found }];
    });
    this.#left = new Map(later.map(({ one }) => [one.account, one]));
    if (later.length === 0) return undefined;
    const times = later.flatMap(({ found }) => found.notBeforeMs ?? []);
    // One without a time to wait for may succeed at once.
    return { notBeforeMs: times.length === later.length ? Math.min(...times) : undefined };
  }

  /** No account has it in its own log. */
  #logJoint({ exitCode, code, hint, message }: ReportedError): void {
    const { log } = this.#options;
    const fields = { type: 'joint-failed', exitCode, code, hint };
    log({ level: 'error', message: `all accounts together: ${message}`, fields });
    log({ level: 'error', message: hint, fields: { type: 'hint' } });
  }

  /** The config as a whole could not be used: no account was begun. */
  async #refuse(error: SyncError, startedAtMs: number): Promise<TryLater | undefined> {
    const { exitCode, code, hint, message } = error;
    this.#last = { exitCode, code };
    this.record.judge(startedAtMs, false);
    const { log } = this.#options;
    log({ level: 'error', message, fields: { type: 'run-ended', exitCode, code, hint } });
    log({ level: 'error', message: hint, fields: { type: 'hint' } });
    const { context, globals, patterns, metrics } = this.#options;
    const listed = await listChosen(context, globals, patterns).catch(() => undefined);
    const known = listed ?? this.#known;
    const { facts, warnings } = await refuseAccounts(context, globals, {
      ended: { startedAtMs, error },
      chosen: known.chosen,
      wantsMetrics: metrics.isWanted,
      last: this.#settings,
    });
    for (const [account, found] of facts) this.#facts.set(account, found);
    logWarnings(log, [...warnings, ...(await this.#tellRefused(error, known))]);
    return findTryLater(exitCode, [toReportedError(error)]);
  }

  /** Notifies people by the settings that were read last. */
  async #tellRefused(error: SyncError, known: ChosenAccounts): Promise<readonly string[]> {
    const { context } = this.#options;
    // A person who mistyped it has already seen why.
    if (context.output.stderr.isTerminal && isMistyped(context.output, error)) return [];
    const run = { error: toReportedError(error) };
    const told = known.chosen.flatMap(({ name: account }) => {
      const settings = this.#settings.get(account);
      return settings === undefined ? [] : [{ account, settings, run }];
    });
    const end = { exitCode: error.exitCode, accountCount: known.chosen.length };
    // Secrets may have got other names since the config was read last.
    return tellAccounts(context, { told, end, accounts: [...this.#known.accounts, ...known.accounts] });
  }

  async save(schedule: ScheduleFacts | undefined): Promise<void> {
    const { context, metrics } = this.#options;
    const { file, withoutStreams } = metrics;
    logWarnings(this.#options.log, [
      ...(await saveAccountsMetrics(context, file, this.#facts, { schedule, withoutStreams })),
      ...((await context.telemetry?.flush()) ?? []),
    ]);
  }
}

/** Takes over what is new, and forgets accounts that the config has no more. */
function mergeInto<Fact>(
  kept: Map<string, Fact>,
  found: ReadonlyMap<string, Fact>,
  { accounts }: ChosenAccounts,
): void {
  for (const [account, fact] of found) kept.set(account, fact);
  const names = new Set(accounts.map(({ name }) => name));
  for (const account of kept.keys()) if (!names.has(account)) kept.delete(account);
}

function errorsOf({ report, error }: AccountEnd) {
  const found = report === undefined ? [] : listErrors(report);
  return found.length > 0 || error === undefined ? found : [error];
}
