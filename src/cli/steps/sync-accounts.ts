import type { AccountTask, RunLimits } from '../../accounts/run-accounts.ts';
import type { ConfigAccount } from '../../config/accounts.ts';
import type { MetricFacts } from '../../metrics/metric-facts.ts';
import { listCompleted } from '../../accounts/join-reports.ts';
import { NOTHING_JOINT } from '../../accounts/report-accounts.ts';
import { watchReading } from '../../accounts/watch-reading.ts';
import type { AccountOfConfig } from '../../model/account.ts';
import type { AccountEnd, AccountsReport } from '../../model/accounts-report.ts';
import { toSyncError } from '../../model/errors.ts';
import { type EndedRun, type RunObserver, tellEnd } from '../../model/run-observer.ts';
import { toReportedError } from '../../model/run-report.ts';
import type { Settings, SyncOptions } from '../../model/settings.ts';
import { nameAccountsDeep } from '../../text/name-accounts.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import type { EndedSync } from '../../notify/notify-accounts.ts';
import type { ToldSettings } from '../frame/engine.ts';
import type { AccountsDisplay } from '../progress/accounts-display.ts';
import { openAccountsDisplay } from '../progress/open-display.ts';
import type { ChosenAccounts } from './choose-accounts.ts';
import { describeChosen } from './describe-chosen.ts';
import { countMetrics, findPlace, type KnownPlace, recordRefusals } from './follow-run.ts';
import { followTraces } from './follow-telemetry.ts';
import { loadSettings } from './load-settings.ts';
import { tellAccounts } from './tell-accounts.ts';

/** How a sync of several accounts is made. */
export interface AccountsSyncOptions {
  /** Of each account's runs; the limits are those of the whole. */
  readonly sync: SyncOptions;
  /** Each account's metrics are counted only if somebody collects them. */
  readonly wantsMetrics: boolean;
  /** How accounts ended that are tried again: what they completed is not read again, even with `--force`. */
  readonly earlier?: ReadonlyMap<string, AccountEnd> | undefined;
  /** In a schedule, the settings of each account that were read last: notices use them when its config is broken. */
  readonly last?: ReadonlyMap<string, ToldSettings> | undefined;
}

/** A sync of several accounts, and what is known of each after it. */
export interface EndedAccounts {
  readonly report: AccountsReport;
  /** By account; only with `wantsMetrics`. */
  readonly facts: ReadonlyMap<string, MetricFacts>;
  /** By account: those that were read, or had been before. */
  readonly settings: ReadonlyMap<string, ToldSettings>;
}

/** Syncs the chosen accounts, several at once, and shows their progress. What fails in one stays in it. */
export async function syncAccounts(
  context: CliContext,
  globals: GlobalValues,
  known: ChosenAccounts,
  options: AccountsSyncOptions,
): Promise<EndedAccounts> {
  const { clock, signal } = context;
  const { maxWaitMs, deadlineMs } = options.sync;
  const startedAtMs = clock.now();
  const names = known.chosen.map(({ name }) => name);
  const display = await openAccountsDisplay(context, globals, names);
  const describe = await describeChosen(context, globals, known);
  const runs = new AccountRuns(context, globals, { ...options, display, describe, known });
  context.chooseStop('keep-pages');
  try {
    const { runAccounts } = await import('../../accounts/run-accounts.ts');
    const accounts = await runAccounts(
      known.chosen.map((account) => runs.toTask(account)),
      { concurrency: known.concurrency, clock, signal, maxWaitMs, deadlineMs, onEvent: display.onAccount },
    );
    const joint = signal.aborted
      ? NOTHING_JOINT
      : await context.engine.publishJoint(known, { clock, signal });
    const { reportAccounts } = await import('../../accounts/report-accounts.ts');
    const report = reportAccounts(accounts, joint, { startedAtMs, finishedAtMs: clock.now() });
    const warnings = await runs.sendNotices({
      exitCode: report.exitCode,
      accountCount: accounts.length,
      joint: report.error,
    });
    return {
      report: { ...report, warnings },
      facts: inOrder(runs.facts, names),
      settings: runs.settings,
    };
  } finally {
    context.chooseStop('close');
    display.close();
  }
}

/** Accounts end in any order, and are shown in that of the config. */
function inOrder<T>(found: ReadonlyMap<string, T>, names: readonly string[]): ReadonlyMap<string, T> {
  return new Map([...found].toSorted(([a], [b]) => names.indexOf(a) - names.indexOf(b)));
}

/** An account whose config could be read, or why it could not. */
type LoadedAccount = { readonly place: KnownPlace['place'] } & (
  | { readonly settings: Settings; readonly error?: undefined }
  | { readonly settings: KnownPlace['settings']; readonly error: EndedRun }
);

/** What the loop over accounts gives to a run. */
interface BegunRun {
  readonly limits: RunLimits;
  readonly onReading: (isReading: boolean) => void;
}

interface RunsOptions {
  /** Also those that do not run. */
  readonly known: ChosenAccounts;
  readonly display: AccountsDisplay;
  readonly describe: (name: string) => AccountOfConfig;
}

/** The runs of the accounts, and what follows each of them. */
class AccountRuns {
  readonly facts = new Map<string, MetricFacts>();
  readonly #context: CliContext;
  readonly #globals: GlobalValues;
  readonly #options: AccountsSyncOptions & RunsOptions;
  /** The last run of each account, for the notices. */
  readonly #ended = new Map<
    string,
    { readonly settings: ToldSettings | undefined; readonly run: EndedRun }
  >();

  constructor(context: CliContext, globals: GlobalValues, options: AccountsSyncOptions & RunsOptions) {
    this.#context = context;
    this.#globals = globals;
    this.#options = options;
  }

  toTask(account: ConfigAccount): AccountTask {
    const own = { ...this.#context, account };
    return {
      name: account.name,
      run: (limits, onReading) => this.#run(own, account.name, { limits, onReading }),
    };
  }

  async #run(own: CliContext, name: string, begun: BegunRun): Promise<EndedRun> {
    const { display, wantsMetrics } = this.#options;
    const traces = followTraces(own, { account: name });
    const loaded = await this.#load(own, name);
    const { settings, place, error } = loaded;
    const run = error ?? (await this.#sync(name, loaded.settings, { ...begun, traces }));
    this.#ended.set(name, { settings, run });
    const keep = (facts: MetricFacts) => {
      this.facts.set(name, facts);
      return Promise.resolve([]);
    };
    const observers: readonly RunObserver[] = [
      ...traces,
      recordRefusals(own, place),
      ...(wantsMetrics ? [countMetrics(own, settings, keep)] : []),
    ];
    for (const message of await tellEnd(observers, run)) display.follow(name)({ type: 'warning', message });
    return run;
  }

  async #load(own: CliContext, name: string): Promise<LoadedAccount> {
    const startedAtMs = own.clock.now();
    try {
      const settings = await loadSettings(own, this.#globals);
      return { settings, place: { stateDir: settings.stateDir, guessed: false } };
    } catch (thrown) {
      const error = { startedAtMs, error: toSyncError(thrown) };
      return { ...(await findPlace(own, this.#globals, this.#options.last?.get(name))), error };
    }
  }

  async #sync(
    name: string,
    settings: Settings,
    { limits, onReading, traces }: BegunRun & { readonly traces: readonly RunObserver[] },
  ): Promise<EndedRun> {
    const { clock, engine, signal } = this.#context;
    const { display, sync, earlier, describe } = this.#options;
    const startedAtMs = clock.now();
    const before = earlier?.get(name)?.report;
    const completed = [...(before === undefined ? [] : listCompleted(before)), ...(limits.completed ?? [])];
    const show = display.follow(name);
    const observers: readonly RunObserver[] = [
      { name: 'the display', onEvent: (event) => show(nameAccountsDeep(event, [name])) },
      watchReading(onReading),
      ...traces,
    ];
    try {
      return {
        startedAtMs,
        report: await engine.runSync(settings, {
          ...sync,
          ...limits,
          ofAccount: describe(name),
          ...(completed.length > 0 && { completed }),
          signal,
          observers,
        }),
      };
    } catch (thrown) {
      return { startedAtMs, error: toSyncError(thrown) };
    }
  }

  /** Sends the notices of all accounts together. */
  sendNotices(end: EndedSync): Promise<readonly string[]> {
    const told = [...this.#ended].flatMap(([account, { settings, run }]) => {
      if (settings === undefined) return [];
      const ended = run.report === undefined ? { error: toReportedError(run.error) } : { report: run.report };
      return [{ account, settings, run: ended }];
    });
    return tellAccounts(this.#context, { told, end, accounts: this.#options.known.accounts });
  }

  /** Those that could be read, by account. */
  get settings(): ReadonlyMap<string, ToldSettings> {
    const all = [...this.#ended].map(([name, { settings }]) => [name, settings] as const);
    return new Map(all.flatMap(([name, settings]) => (settings === undefined ? [] : [[name, settings]])));
  }
}
