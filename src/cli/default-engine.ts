import type { AccountDictionary, RenderedDictionary } from '../model/dictionary.ts';
import type { OfflineSettings } from '../model/settings.ts';
import { findSender } from '../model/telemetry.ts';
import type { ConfigRequest, Engine, KnownAccounts, ToldSettings } from './frame/engine.ts';

/** Each has a file open in an engine with two threads. */
const REPORTS_AT_ONCE = 2;

/**
 * The real engine. Each function loads its part of Sluice when it is called, so that `--help` and the
 * commands that need little stay fast.
 */
export const defaultEngine: Engine = {
  async loadSettings(request) {
    const { resolveSettings } = await import('../config/resolve-settings.ts');
    return resolveSettings(await loadResolveOptions(request, 'required'));
  },
  async listAccounts({ path, env }) {
    const { listAccounts } = await import('../config/accounts.ts');
    const { readConfigFile } = await import('../config/config-file.ts');
    const found = listAccounts(readConfigFile(path), env);
    if (found === undefined) return undefined;
    const { findPlaces } = await import('../config/account-places.ts');
    return { ...found, ...findPlaces(found.accounts, { env }) };
  },
  findJointFaults: lend(() => import('../accounts/find-joint-faults.ts'), 'findJointFaults'),
  tryJoint: lend(() => import('../accounts/find-joint-faults.ts'), 'tryJoint'),
  async findLeftovers(known) {
    const { findLeftovers } = await import('../accounts/find-leftovers.ts');
    return findLeftovers(known.patterns, listInConfig(known));
  },
  async findLeftover(known, account) {
    const { findLeftover } = await import('../accounts/find-leftovers.ts');
    return findLeftover(known.patterns, listInConfig(known), account);
  },
  async planRemoval(request, left) {
    const { planRemoval } = await import('../accounts/plan-removal.ts');
    return planRemoval(await loadRemoved(request, left.account), left);
  },
  async removeAccount(request, left, effects) {
    const { removeAccount } = await import('../accounts/remove-account.ts');
    const joint = await defaultEngine.listAccounts(request);
    return removeAccount(await loadRemoved(request, left.account), left, { ...effects, joint });
  },
  async loadOfflineSettings(request) {
    const { resolveOfflineSettings } = await import('../config/resolve-settings.ts');
    return resolveOfflineSettings(await loadResolveOptions(request, 'optional'));
  },
  async explainConfig(request) {
    const { explainConfig } = await import('../config/explain-config.ts');
    const { resolveOfflineSettings } = await import('../config/resolve-settings.ts');
    const options = await loadResolveOptions(request, 'optional');
    return explainConfig(options.loaded, resolveOfflineSettings(options));
  },
  async buildConfigTemplate({ folder, ...answers }) {
    const { buildConfigTemplate } = await import('../config/config-template.ts');
    const { findEditorSchema } = await import('../config/find-editor-schema.ts');
    const editorSchema = folder === undefined ? undefined : findEditorSchema(folder);
    return buildConfigTemplate({ ...answers, editorSchema });
  },
  guessStateDir: lend(() => import('../config/guess-state-dir.ts'), 'guessStateDir'),
  keepRefusal: lend(() => import('../commands/refused-run.ts'), 'keepRefusal'),
  settleRefusal: lend(() => import('../commands/refused-run.ts'), 'settleRefusal'),
  runSync: lend(() => import('../sync/run.ts'), 'runSync'),
  planSync: lend(() => import('../commands/plan/plan.ts'), 'planSync'),
  planOffline: lend(() => import('../commands/plan/plan.ts'), 'planOffline'),
  planSharedQuotas: lend(() => import('../commands/plan/plan-shared-quotas.ts'), 'planSharedQuotas'),
  runChecks: lend(() => import('../commands/check.ts'), 'runChecks'),
  discover: lend(() => import('../commands/discover/discover.ts'), 'discover'),
  listQuarantine: lend(() => import('../commands/contracts/read-quarantine.ts'), 'listQuarantine'),
  showQuarantined: lend(() => import('../commands/contracts/read-quarantine.ts'), 'showQuarantined'),
  retryQuarantine: lend(() => import('../commands/contracts/retry-quarantine.ts'), 'retryQuarantine'),
  showSchema: lend(() => import('../commands/contracts/read-schema.ts'), 'showSchema'),
  diffSchema: lend(() => import('../commands/contracts/read-schema.ts'), 'diffSchema'),
  exportSchema: lend(() => import('../commands/contracts/export-schema.ts'), 'exportSchema'),
  exportJointSchema: lend(() => import('../commands/contracts/export-joint-schema.ts'), 'exportJointSchema'),
  verifyState: lend(() => import('../commands/verify/verify.ts'), 'verifyState'),
  compareWithApi: lend(() => import('../commands/verify/compare-api.ts'), 'compareWithApi'),
  readState: lend(() => import('../commands/state/read-state.ts'), 'readState'),
  importState: lend(() => import('../commands/state/change-state.ts'), 'importState'),
  resetState: lend(() => import('../commands/state/change-state.ts'), 'resetState'),
  exportTables: lend(() => import('../commands/export-tables.ts'), 'exportTables'),
  maintainLakes: lend(() => import('../commands/maintain-lakes.ts'), 'maintainLakes'),
  rebuildStreams: lend(() => import('../commands/rebuild/rebuild.ts'), 'rebuildStreams'),
  readStatus: lend(() => import('../commands/status.ts'), 'readStatus'),
  readRecentRuns: lend(() => import('../commands/read-runs.ts'), 'readRecent'),
  readRuns: lend(() => import('../commands/read-runs.ts'), 'readRuns'),
  findUnreadableState: lend(() => import('../commands/unreadable-state.ts'), 'findUnreadableState'),
  async findRefusal({ stateDir }) {
    const { findRefusal } = await import('../commands/refused-run.ts');
    return findRefusal(stateDir);
  },
  readRun: lend(() => import('../commands/read-runs.ts'), 'readRun'),
  async makeReport(settings, request, paging) {
    const { gatherReport } = await import('../commands/report/gather-report.ts');
    const { renderReport } = await import('../report/render-report.ts');
    return renderReport(await gatherReport(settings, request), paging);
  },
  async makeAccountsReport(accounts, { signal, faults = [], ...request }, paging) {
    const { gatherReport } = await import('../commands/report/gather-report.ts');
    const { mapAtOnce } = await import('../accounts/map-at-once.ts');
    const { assertNotAborted } = await import('../model/abort.ts');
    const { toSyncError } = await import('../model/errors.ts');
    const { toReportedError } = await import('../model/run-report.ts');
    const { version } = await import('../model/version.ts');
    const gathered = await mapAtOnce(accounts, REPORTS_AT_ONCE, async (one) => {
      if (one.settings === undefined) return one;
      assertNotAborted(signal);
      const { account, settings } = one;
      try {
        const extent = paging?.isLive === true ? 'overview' : 'all';
        return { account, data: await gatherReport(settings, request, { extent }) };
      } catch (thrown) {
        return { account, error: toReportedError(toSyncError(thrown)) };
      }
    });
    const { renderAccountsReport } = await import('../report/render-accounts-report.ts');
    const madeAt = new Date().toISOString();
    return renderAccountsReport({ madeAt, version, accounts: gathered, faults }, paging);
  },
  async makeDictionary(settings) {
    const { gatherDictionary } = await import('../commands/docs/gather-dictionary.ts');
    const dictionary = await gatherDictionary(settings);
    return renderDictionaryOf([{ account: undefined, dictionary, error: undefined }]);
  },
  async makeAccountsDictionary(accounts, { signal }) {
    const { gatherDictionary } = await import('../commands/docs/gather-dictionary.ts');
    const { mapAtOnce } = await import('../accounts/map-at-once.ts');
    const { assertNotAborted } = await import('../model/abort.ts');
    const { toSyncError } = await import('../model/errors.ts');
    const { toReportedError } = await import('../model/run-report.ts');
    const gathered = await mapAtOnce(accounts, REPORTS_AT_ONCE, async ({ account, settings, error }) => {
      if (settings === undefined) return { account, dictionary: undefined, error };
      assertNotAborted(signal);
      try {
        return { account, dictionary: await gatherDictionary(settings), error: undefined };
      } catch (thrown) {
        return { account, dictionary: undefined, error: toReportedError(toSyncError(thrown)) };
      }
    });
    return renderDictionaryOf(gathered);
  },
  queryPublished: lend(() => import('../warehouse/query-published.ts'), 'queryPublished'),
  queryAccounts: lend(() => import('../accounts/query-joint.ts'), 'queryJoint'),
  streamPublished: lend(() => import('../warehouse/query-published.ts'), 'streamPublished'),
  streamAccounts: lend(() => import('../accounts/query-joint.ts'), 'streamJoint'),
  publishJoint: lend(() => import('../accounts/publish-joint.ts'), 'publishJoint'),
  startSimulator: lend(() => import('./start-simulator.ts'), 'startSimulator'),
  async listScenarios() {
    const { scenarioGroups } = await import('../simulator/scenarios.ts');
    return scenarioGroups;
  },
  async readVersion() {
    const { version } = await import('../model/version.ts');
    return version;
  },
  parseCron: lend(() => import('../schedule/cron-schedule.ts'), 'parseCron'),
  async owesRun(schedule, { stateDir }, nowMs) {
    const { owesRun } = await import('../schedule/find-catch-up.ts');
    return owesRun(schedule, stateDir, nowMs);
  },
  runSchedule: lend(() => import('../schedule/run-schedule.ts'), 'runSchedule'),
  async notifyRun(settings, run, effects) {
    // Most configs ask for no notices.
    if (Object.keys(settings.notify).length === 0) return [];
    const { notifyRun } = await import('../notify/notify-run.ts');
    return notifyRun(await addExpiry(settings, effects.clock.now()), run, effects);
  },
  async notifyAccounts(accounts, end, effects) {
    const asking = accounts.filter(({ settings }) => Object.keys(settings.notify).length > 0);
    if (asking.length === 0) return [];
    const { notifyAccounts } = await import('../notify/notify-accounts.ts');
    const nowMs = effects.clock.now();
    const told = asking.map(async (one) => ({ ...one, settings: await addExpiry(one.settings, nowMs) }));
    return notifyAccounts(await Promise.all(told), end, effects);
  },
  collectMetrics: lend(() => import('../metrics/collect-metrics.ts'), 'collectMetrics'),
  renderMetrics: lend(() => import('../metrics/render-metrics.ts'), 'renderMetrics'),
  renderAccountMetrics: lend(() => import('../metrics/render-metrics.ts'), 'renderAccountMetrics'),
  listMetrics: lend(() => import('../metrics/list-families.ts'), 'listFamilies'),
  listAccountMetrics: lend(() => import('../metrics/list-families.ts'), 'listAccountFamilies'),
  async openTelemetry(effects) {
    // Most runs have none, and load nothing for it.
    if (findSender(effects.env) === undefined) return { telemetry: undefined, warnings: [] };
    const { openTelemetry } = await import('../telemetry/open-telemetry.ts');
    return openTelemetry(effects);
  },
  writeMetricsFile: lend(() => import('../metrics/write-metrics-file.ts'), 'writeMetricsFile'),
  startMetricsServer: lend(() => import('../metrics/metrics-server.ts'), 'startMetricsServer'),
  clients: {
    async resolveConfig(config, { env, nowMs }) {
      const { parseConfig } = await import('../config/load-config.ts');
      const { resolveSettings } = await import('../config/resolve-settings.ts');
      const { connectors } = await import('../../connectors/registry.ts');
      return resolveSettings({ loaded: parseConfig(config), connectors, env, nowMs });
    },
    listStreams: lend(() => import('../commands/clients/read-changes.ts'), 'listClientStreams'),
    async withChanges(settings, effects, read) {
      const { withChanges } = await import('../commands/clients/read-changes.ts');
      return withChanges(settings, effects, read);
    },
  },
  fleet: {
    loadSettings: lend(() => import('./fleet/fleet-calls.ts'), 'loadFleet'),
    init: lend(() => import('./fleet/fleet-calls.ts'), 'initFleet'),
    work: lend(() => import('./fleet/work.ts'), 'workForFleet'),
    read: lend(() => import('./fleet/fleet-calls.ts'), 'readFleetOf'),
    openReader: lend(() => import('./fleet/fleet-calls.ts'), 'openReader'),
    renderMetrics: lend(() => import('../metrics/render-fleet-metrics.ts'), 'renderFleetMetrics'),
    async check(config) {
      // Without a fleet in the config, nothing of it is loaded.
      const { isMap, readConfigFile } = await import('../config/config-file.ts');
      const { value } = readConfigFile(config.path);
      if (!isMap(value) || (value['fleet'] ?? undefined) === undefined) return undefined;
      const { checkFleet } = await import('./fleet/check-fleet.ts');
      return checkFleet(config);
    },
    makeReport: lend(() => import('./fleet/fleet-calls.ts'), 'makeFleetReport'),
    change: lend(() => import('./fleet/fleet-calls.ts'), 'changeAccounts'),
    repair: lend(() => import('./fleet/fleet-calls.ts'), 'repairAccount'),
  },
};

async function renderDictionaryOf(accounts: readonly AccountDictionary[]): Promise<RenderedDictionary> {
  const { renderDictionary } = await import('../report/render-dictionary.ts');
  const { version } = await import('../model/version.ts');
  return renderDictionary({ madeAt: new Date().toISOString(), version, accounts });
}

/** What the config names is not left of anybody. */
function listInConfig({ accounts, places, combined, catalog }: KnownAccounts) {
  return {
    names: accounts.map(({ name }) => name),
    places: [...places.map((place) => place.path), ...[combined, catalog].flatMap((path) => path ?? [])],
  };
}

/** Settings of an account as if the config still had it, with none of its own. */
async function loadRemoved(request: ConfigRequest, name: string): Promise<OfflineSettings> {
  const { nameAccount } = await import('../config/accounts.ts');
  const { readConfigFile } = await import('../config/config-file.ts');
  const account = nameAccount(readConfigFile(request.path), name);
  return defaultEngine.loadOfflineSettings({ ...request, account, contracts: 'ignored' });
}

/** Settings for notices, with the warning of a key that expires soon. */
async function addExpiry(settings: ToldSettings, nowMs: number) {
  const { findExpiryWarnings } = await import('../config/key-expiry.ts');
  const { keyExpiresAt, connector } = settings;
  const [keyExpiryWarning] = findExpiryWarnings(keyExpiresAt, nowMs, connector);
  return { ...settings, keyExpiryWarning };
}

/** A function of a module that is loaded when the function is called. */
function lend<Name extends string, Module extends Readonly<Record<Name, Lent>>>(
  load: () => Promise<Module>,
  name: Name,
): (...given: Parameters<Module[Name]>) => Promise<Awaited<ReturnType<Module[Name]>>> {
  type Result = Awaited<ReturnType<Module[Name]>>;
  return (...given) => load().then((module) => module[name](...(given as never[]))) as Promise<Result>;
}

type Lent = (...given: never[]) => unknown;

async function loadResolveOptions(
  { path, env, nowMs, contracts, account }: ConfigRequest,
  secrets: 'required' | 'optional',
) {
  const { loadConfig } = await import('../config/load-config.ts');
  const { connectors } = await import('../../connectors/registry.ts');
  return {
    loaded: loadConfig({ path, env, secrets, account }),
    connectors,
    env,
    nowMs,
    ...(contracts && { contracts }),
  };
}
