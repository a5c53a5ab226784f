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
  async guessStateDir({ path, env }) {
    const { guessStateDir } = await import('../config/guess-state-dir.ts');
    return guessStateDir({ path, env });
  },
  async keepRefusal(place, refused) {
    const { keepRefusal } = await import('../commands/refused-run.ts');
    keepRefusal(place, refused);
  },
  async settleRefusal(stateDir, fixed) {
    const { settleRefusal } = await import('../commands/refused-run.ts');
    settleRefusal(stateDir, fixed);
  },
  async runSync(settings, options) {
    const { runSync } = await import('../sync/run.ts');
    return runSync(settings, options);
  },
  async planSync(settings, options) {
    const { planSync } = await import('../commands/plan/plan.ts');
    return planSync(settings, options);
  },
  async planOffline(settings, options) {
    const { planOffline } = await import('../commands/plan/plan.ts');
    return planOffline(settings, options);
  },
  async runChecks(settings, options) {
    const { runChecks } = await import('../commands/check.ts');
    return runChecks(settings, options);
  },
  async discover(settings, request) {
    const { discover } = await import('../commands/discover/discover.ts');
    return discover(settings, request);
  },
  async listQuarantine(settings, request) {
    const { listQuarantine } = await import('../commands/contracts/read-quarantine.ts');
    return listQuarantine(settings, request);
  },
  async showQuarantined(settings, id) {
    const { showQuarantined } = await import('../commands/contracts/read-quarantine.ts');
    return showQuarantined(settings, id);
  },
  async retryQuarantine(settings, request) {
    const { retryQuarantine } = await import('../commands/contracts/retry-quarantine.ts');
    return retryQuarantine(settings, request);
  },
  async showSchema(settings, request) {
    const { showSchema } = await import('../commands/contracts/read-schema.ts');
    return showSchema(settings, request);
  },
  async diffSchema(settings, request) {
    const { diffSchema } = await import('../commands/contracts/read-schema.ts');
    return diffSchema(settings, request);
  },
  async exportSchema(settings, request) {
    const { exportSchema } = await import('../commands/contracts/export-schema.ts');
    return exportSchema(settings, request);
  },
  async verifyState(settings, request) {
    const { verifyState } = await import('../commands/verify/verify.ts');
    return verifyState(settings, request);
  },
  async compareWithApi(settings, request) {
    const { compareWithApi } = await import('../commands/verify/compare-api.ts');
    return compareWithApi(settings, request);
  },
  async readState(settings, request) {
    const { readState } = await import('../commands/state/read-state.ts');
    return readState(settings, request);
  },
  async importState(settings, text, request) {
    const { importState } = await import('../commands/state/change-state.ts');
    return importState(settings, text, request);
  },
  async resetState(settings, request) {
    const { resetState } = await import('../commands/state/change-state.ts');
    return resetState(settings, request);
  },
  async rebuildStreams(settings, request) {
    const { rebuildStreams } = await import('../commands/rebuild/rebuild.ts');
    return rebuildStreams(settings, request);
  },
  async readStatus(settings) {
    const { readStatus } = await import('../commands/status.ts');
    return readStatus(settings);
  },
  async readRuns(settings, options) {
    const { readRuns } = await import('../commands/status.ts');
    return readRuns(settings, options);
  },
  async findRefusal({ stateDir }) {
    const { findRefusal } = await import('../commands/refused-run.ts');
    return findRefusal(stateDir);
  },
  async readRun(settings, runId) {
    const { readRun } = await import('../commands/status.ts');
    return readRun(settings, runId);
  },
  async makeReport(settings, request) {
    const { gatherReport } = await import('../commands/report/gather-report.ts');
    const { renderReport } = await import('../report/render-report.ts');
    return renderReport(await gatherReport(settings, request));
  },
  async queryPublished(path, sql, options) {
    const { queryPublished } = await import('../warehouse/query-published.ts');
    return queryPublished(path, sql, options);
  },
  async startSimulator(request) {
    const { startSimulator } = await import('./start-simulator.ts');
    return startSimulator(request);
  },
  async listScenarios() {
    const { scenarioGroups } = await import('../simulator/scenarios.ts');
    return scenarioGroups;
  },
  async readVersion() {
    const { version } = await import('../model/version.ts');
    return version;
  },
  async parseCron(expression, timezone, nowMs) {
    const { parseCron } = await import('../schedule/cron-schedule.ts');
    return parseCron(expression, timezone, nowMs);
  },
  async owesRun(schedule, { stateDir }, nowMs) {
    const { owesRun } = await import('../schedule/find-catch-up.ts');
    return owesRun(schedule, stateDir, nowMs);
  },
  async runSchedule(options) {
    const { runSchedule } = await import('../schedule/run-schedule.ts');
    return runSchedule(options);
  },
  async notifyRun(settings, run, effects) {
    // Most configs ask for no notices.
    if (Object.keys(settings.notify).length === 0) return [];
    const { notifyRun } = await import('../notify/notify-run.ts');
    const { findExpiryWarnings } = await import('../config/key-expiry.ts');
    const { keyExpiresAt, connector } = settings;
    const [keyExpiryWarning] = findExpiryWarnings(keyExpiresAt, effects.clock.now(), connector);
    return notifyRun({ ...settings, keyExpiryWarning }, run, effects);
  },
  async collectMetrics(settings, run, nowMs) {
    const { collectMetrics } = await import('../metrics/collect-metrics.ts');
    return collectMetrics(settings, run, nowMs);
  },
  async renderMetrics(facts, schedule) {
    const { renderMetrics } = await import('../metrics/render-metrics.ts');
    return renderMetrics(facts, schedule);
  },
  async writeMetricsFile(file, text) {
    const { writeMetricsFile } = await import('../metrics/write-metrics-file.ts');
    writeMetricsFile(file, text);
  },
  async startMetricsServer(options) {
    const { startMetricsServer } = await import('../metrics/metrics-server.ts');
    return startMetricsServer(options);
  },
};

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
