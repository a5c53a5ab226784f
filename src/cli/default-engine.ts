import type { ConfigRequest, Engine } from './frame/engine.ts';

/**
 * The real engine. Each function loads its part of Sluice when it is called, so that `--help` and the
 * commands that need little stay fast.
 */
export const defaultEngine: Engine = {
  async loadSettings(request) {
    const { resolveSettings } = await import('../config/resolve-settings.ts');
    return resolveSettings(await loadResolveOptions(request, 'required'));
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
  runChecks: lend(() => import('../commands/check.ts'), 'runChecks'),
  discover: lend(() => import('../commands/discover/discover.ts'), 'discover'),
  listQuarantine: lend(() => import('../commands/contracts/read-quarantine.ts'), 'listQuarantine'),
  showQuarantined: lend(() => import('../commands/contracts/read-quarantine.ts'), 'showQuarantined'),
  retryQuarantine: lend(() => import('../commands/contracts/retry-quarantine.ts'), 'retryQuarantine'),
  showSchema: lend(() => import('../commands/contracts/read-schema.ts'), 'showSchema'),
  diffSchema: lend(() => import('../commands/contracts/read-schema.ts'), 'diffSchema'),
  exportSchema: lend(() => import('../commands/contracts/export-schema.ts'), 'exportSchema'),
  verifyState: lend(() => import('../commands/verify/verify.ts'), 'verifyState'),
  compareWithApi: lend(() => import('../commands/verify/compare-api.ts'), 'compareWithApi'),
  readState: lend(() => import('../commands/state/read-state.ts'), 'readState'),
  importState: lend(() => import('../commands/state/change-state.ts'), 'importState'),
  resetState: lend(() => import('../commands/state/change-state.ts'), 'resetState'),
  rebuildStreams: lend(() => import('../commands/rebuild/rebuild.ts'), 'rebuildStreams'),
  readStatus: lend(() => import('../commands/status.ts'), 'readStatus'),
  readRuns: lend(() => import('../commands/status.ts'), 'readRuns'),
  async findRefusal({ stateDir }) {
    const { findRefusal } = await import('../commands/refused-run.ts');
    return findRefusal(stateDir);
  },
  readRun: lend(() => import('../commands/status.ts'), 'readRun'),
  async makeReport(settings, request) {
    const { gatherReport } = await import('../commands/report/gather-report.ts');
    const { renderReport } = await import('../report/render-report.ts');
    return renderReport(await gatherReport(settings, request));
  },
  queryPublished: lend(() => import('../warehouse/query-published.ts'), 'queryPublished'),
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
    const { findExpiryWarnings } = await import('../config/key-expiry.ts');
    const { keyExpiresAt, connector } = settings;
    const [keyExpiryWarning] = findExpiryWarnings(keyExpiresAt, effects.clock.now(), connector);
    return notifyRun({ ...settings, keyExpiryWarning }, run, effects);
  },
  collectMetrics: lend(() => import('../metrics/collect-metrics.ts'), 'collectMetrics'),
  renderMetrics: lend(() => import('../metrics/render-metrics.ts'), 'renderMetrics'),
  writeMetricsFile: lend(() => import('../metrics/write-metrics-file.ts'), 'writeMetricsFile'),
  startMetricsServer: lend(() => import('../metrics/metrics-server.ts'), 'startMetricsServer'),
};

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
  { path, env, nowMs, contracts }: ConfigRequest,
  secrets: 'required' | 'optional',
) {
  const { loadConfig } = await import('../config/load-config.ts');
  const { connectors } = await import('../../connectors/registry.ts');
  return {
    loaded: loadConfig({ path, env, secrets }),
    connectors,
    env,
    nowMs,
    ...(contracts && { contracts }),
  };
}
