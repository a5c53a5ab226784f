import { connectors } from '../connectors/registry.ts';
import { describeAccounts } from './accounts/account-of-config.ts';
import { matchAccounts, unknownAccount } from './accounts/match-accounts.ts';
import type { RunLimits } from './accounts/run-accounts.ts';
import { watchReading } from './accounts/watch-reading.ts';
import { assertOptions } from './config/assert-options.ts';
import { type AccountPlaces, findPlaces } from './config/account-places.ts';
import { type ConfigAccount, type ConfigAccounts, listAccounts, withoutAccounts } from './config/accounts.ts';
import { type ConfigFile, readConfigFile, wrapConfig } from './config/config-file.ts';
import { loadConfig, parseConfig } from './config/load-config.ts';
import { type ResolveOptions, resolveOfflineSettings, resolveSettings } from './config/resolve-settings.ts';
import type { AccountOfConfig } from './model/account.ts';
import type { AccountEvent, AccountsReport } from './model/accounts-report.ts';
import { type Clock, systemClock } from './model/clock.ts';
import type { ConfigInput } from './model/config.ts';
import type { OnProgress, ProgressEvent } from './model/progress.ts';
import { ConfigError, toSyncError } from './model/errors.ts';
import type { PlanReport } from './model/plan-report.ts';
import type { CheckReport } from './model/reports.ts';
import {
  callSafely,
  describeFailure,
  type EndedRun,
  type RunObserver,
  tellEnd,
} from './model/run-observer.ts';
import type { RunReport } from './model/run-report.ts';
import type { Settings, SyncOptions } from './model/settings.ts';
import { findSender } from './model/telemetry.ts';

/** Options of the library's functions: those of the command line, and what a program has instead of a terminal. */
export interface LibraryOptions extends SyncOptions {
  /** The account to work on, of a config that has several. */
  readonly account?: string;
  readonly onProgress?: OnProgress;
  /** Ends the run after what is committed; its report then has exit code 130. */
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
  /** Watch a sync: its events, and how it ended. What fails in one is a warning of the run. */
  readonly observers?: readonly RunObserver[];
}

export interface PlanSyncOptions extends LibraryOptions {
  /** Spend no request: sizes are those of the last scan. */
  readonly offline?: boolean;
}

/** Options of `syncAccounts`; those of a sync are of each account's runs. */
export interface AccountsOptions extends Omit<LibraryOptions, 'account' | 'onProgress' | 'observers'> {
  /** Only these accounts: names, in which `*` stands for any text and `?` for one character. All when left out. */
  readonly accounts?: readonly string[];
  /** Called when an account's turn comes, when it waits for its quota, and when it ended. */
  readonly onAccount?: (event: AccountEvent) => void;
  /** Called with each event of a run and the account that it is of. */
  readonly onProgress?: (event: ProgressEvent, account: string) => void;
  /** Makes the observers of an account; they see each of its runs. */
  readonly observers?: (account: string) => readonly RunObserver[];
}

/**
 * Runs one sync with a config object, or with the path of a `sluice.yaml`. What fails in a stream is in the
 * report; a SyncError is thrown only when the run could not start (config, another run, disk).
 */
export async function sync(config: ConfigInput | string, options: LibraryOptions = {}): Promise<RunReport> {
  assertOptions('sync', options);
  const ended = await runOnce(async () => {
    const { account: name, clock } = options;
    const known = name === undefined ? undefined : listKnown(config);
    const describe = known && (await describeKnown(config, known, clock));
    const settings = toSettings(config, options);
    return name === undefined || describe === undefined
      ? { settings }
      : { settings, ofAccount: describe(name) };
  }, options);
  if (ended.report === undefined) throw ended.error;
  return ended.report;
}

/**
 * Syncs the accounts of a config, several at once; one whose quota is spent gives its place to another until the
 * quota returns, within `maxWaitMs` and `deadlineMs`. What fails in an account, and an account that could not start, is
 * in the report; a ConfigError is thrown for a config without accounts, or where two of them share a place.
 */
export async function syncAccounts(
  config: ConfigInput | string,
  options: AccountsOptions = {},
): Promise<AccountsReport> {
  assertOptions('syncAccounts', options);
  const { clock = systemClock, signal, maxWaitMs, deadlineMs, onAccount, ...rest } = options;
  const { accounts: patterns, onProgress, observers, ...sync } = rest;
  const startedAtMs = clock.now();
  const known = listKnown(config);
  if (known === undefined) throw missingAccounts();
  const { accounts, concurrency } = known;
  const names = matchAccounts(
    accounts.map(({ name }) => name),
    patterns,
  );
  await refuseSharedMistake(config, accounts, clock);
  const warnings = new Set<string>();
  const onEvent = (event: AccountEvent) => {
    callSafely(
      () => onAccount?.(event),
      (thrown) => warnings.add(describeFailure({ name: 'onAccount' }, thrown)),
    );
  };
  const { runAccounts } = await import('./accounts/run-accounts.ts');
  const describe = await describeKnown(config, known, clock);
  const tasks = accounts
    .filter(({ name }) => names.includes(name))
    .map((account) => ({
      name: account.name,
      run: (limits: RunLimits, onReading: (isReading: boolean) => void) =>
        runOnce(
          () => ({ settings: resolveSettings(toResolveOptions(config, { clock, account }, 'required')) }),
          {
            ...sync,
            ofAccount: describe(account.name),
            ...limits,
            clock,
            ...(signal && { signal }),
            ...(onProgress && { onProgress: (event: ProgressEvent) => onProgress(event, account.name) }),
            observers: [watchReading(onReading), ...(observers?.(account.name) ?? [])],
          },
        ),
    }));
  const ends = await runAccounts(tasks, {
    concurrency,
    clock,
    signal,
    maxWaitMs,
    deadlineMs,
    onEvent,
  });
  const { NOTHING_JOINT, reportAccounts } = await import('./accounts/report-accounts.ts');
  const { publishJoint } = await import('./accounts/publish-joint.ts');
  const joint = signal?.aborted === true ? NOTHING_JOINT : await publishJoint(known, { clock, signal });
  const report = reportAccounts(ends, joint, { startedAtMs, finishedAtMs: clock.now() });
  return { ...report, warnings: [...warnings] };
}

/** What is wrong for all accounts is said once, before one of them is begun. */
async function refuseSharedMistake(
  config: ConfigInput | string,
  accounts: readonly ConfigAccount[],
  clock: Clock,
): Promise<void> {
  const { findSharedMistake } = await import('./config/shared-mistake.ts');
  const mistake = await findSharedMistake(accounts, (account) =>
    Promise.resolve()
      .then(() => resolveOfflineSettings(toResolveOptions(config, { clock, account }, 'optional')))
      .then(() => undefined, toSyncError),
  );
  if (mistake !== undefined) throw mistake;
}

type LoadedRun = Pick<SyncOptions, 'ofAccount'> & { readonly settings: Settings };

/** One run to its end, which observers are told; never throws. */
async function runOnce(
  load: () => LoadedRun | Promise<LoadedRun>,
  options: LibraryOptions,
): Promise<EndedRun> {
  const { clock = systemClock } = options;
  const startedAtMs = clock.now();
  const observers = [...(options.observers ?? []), ...(await followTraces(options, clock))];
  const run = async () => {
    const { settings, ...rest } = await load();
    const { runSync } = await import('./sync/run.ts');
    return runSync(settings, { ...options, ...rest, observers });
  };
  const ended: EndedRun = await run().then(
    (report) => ({ startedAtMs, report }),
    (thrown: unknown) => ({ startedAtMs, error: toSyncError(thrown) }),
  );
  const warnings = await tellEnd(observers, ended);
  if (ended.report === undefined || warnings.length === 0) return ended;
  const { report } = ended;
  return { startedAtMs, report: { ...report, warnings: [...report.warnings, ...warnings] } };
}

/** Spans of a run, below the caller's, if the program has set up OpenTelemetry: else nothing of it is loaded. */
async function followTraces(
  { account, ofAccount }: LibraryOptions,
  clock: Clock,
): Promise<readonly RunObserver[]> {
  const { env } = process;
  if (findSender(env) !== 'registered') return [];
  const { openTelemetry } = await import('./telemetry/open-telemetry.ts');
  const mask = (text: string) => text;
  const { telemetry } = await openTelemetry({ env, clock, mask, isLibrary: true, isWithinTrace: true });
  return telemetry === undefined ? [] : [telemetry.followRun({ account: account ?? ofAccount?.name })];
}

/** Tells what the next sync would do, with at most one request a stream. */
export async function plan(config: ConfigInput | string, options: PlanSyncOptions = {}): Promise<PlanReport> {
  assertOptions('plan', options);
  const { planOffline, planSync } = await import('./commands/plan/plan.ts');
  if (options.offline !== true) return planSync(toSettings(config, options), options);
  const { clock } = options;
  const account = findAccount(config, options.account);
  return planOffline(
    resolveOfflineSettings(toResolveOptions(config, { clock, account }, 'optional')),
    options,
  );
}

/** Tries everything a sync needs, with at most one request a stream. */
export async function check(
  config: ConfigInput | string,
  options: LibraryOptions = {},
): Promise<CheckReport> {
  assertOptions('check', options);
  const { runChecks } = await import('./commands/check.ts');
  return runChecks(toSettings(config, options), options);
}

function toSettings(config: ConfigInput | string, { clock, account }: LibraryOptions): Settings {
  return resolveSettings(
    toResolveOptions(config, { clock, account: findAccount(config, account) }, 'required'),
  );
}

function toResolveOptions(
  config: ConfigInput | string,
  {
    clock = systemClock,
    account,
  }: { readonly clock?: Clock | undefined; readonly account: ConfigAccount | undefined },
  secrets: 'required' | 'optional',
): ResolveOptions {
  const { env } = process;
  const loaded =
    typeof config === 'string'
      ? loadConfig({ path: config, env, secrets, account })
      : parseConfig(config, undefined, account);
  return { loaded, connectors, env, nowMs: clock.now() };
}

function readFile(config: ConfigInput | string): ConfigFile {
  return typeof config === 'string' ? readConfigFile(config) : wrapConfig(config);
}

/** The accounts of a config, each with places of its own; undefined for a config without accounts. */
function listKnown(config: ConfigInput | string): (ConfigAccounts & AccountPlaces) | undefined {
  const { env } = process;
  const known = listAccounts(readFile(config), env);
  return known && { ...known, ...findPlaces(known.accounts, { env }) };
}

function describeKnown(
  config: ConfigInput | string,
  { accounts, places }: ConfigAccounts & AccountPlaces,
  clock: Clock | undefined,
): Promise<(name: string) => AccountOfConfig> {
  return describeAccounts(places, (name) => {
    const account = accounts.find((one) => one.name === name);
    return resolveSettings(toResolveOptions(config, { clock, account }, 'required'));
  });
}

/** The account that is meant; undefined for a config without accounts. */
function findAccount(config: ConfigInput | string, name: string | undefined): ConfigAccount | undefined {
  if (name === undefined) {
    withoutAccounts(readFile(config), 'Use syncAccounts, or name one of them, e.g. { account: "acme" }.');
    return undefined;
  }
  const known = listKnown(config);
  if (known === undefined) throw missingAccounts();
  const found = known.accounts.find((account) => account.name === name);
  if (found !== undefined) return found;
  throw unknownAccount(
    name,
    known.accounts.map((account) => account.name),
  );
}

function missingAccounts(): ConfigError {
  return new ConfigError('the config has no accounts', {
    code: 'usage_invalid',
    hint: 'Write accounts into it, docs/accounts.md shows how; for a config without them use sync.',
  });
}
