import type { ConfigRequest, Engine } from './engine.ts';

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
  async buildConfigTemplate(answers) {
    const { buildConfigTemplate } = await import('../config/config-template.ts');
    return buildConfigTemplate(answers);
  },
  async runSync(settings, options) {
    const { runSync } = await import('../pipeline/run.ts');
    return runSync(settings, options);
  },
  async planSync(settings, options) {
    const { planSync } = await import('../pipeline/plan.ts');
    return planSync(settings, options);
  },
  async planOffline(settings, options) {
    const { planOffline } = await import('../pipeline/plan.ts');
    return planOffline(settings, options);
  },
  async runChecks(settings, options) {
    const { runChecks } = await import('../pipeline/check.ts');
    return runChecks(settings, options);
  },
  async readStatus(settings) {
    const { readStatus } = await import('../pipeline/status.ts');
    return readStatus(settings);
  },
  async readRuns(settings, options) {
    const { readRuns } = await import('../pipeline/status.ts');
    return readRuns(settings, options);
  },
  async readRun(settings, runId) {
    const { readRun } = await import('../pipeline/status.ts');
    return readRun(settings, runId);
  },
  async queryPublished(path, sql, options) {
    const { queryPublished } = await import('../warehouse/query-published.ts');
    return queryPublished(path, sql, options);
  },
  async startSimulator(request) {
    const { startSimulator } = await import('./start-simulator.ts');
    return startSimulator(request);
  },
  async readVersion() {
    const { version } = await import('../model/version.ts');
    return version;
  },
};

async function loadResolveOptions({ path, env, nowMs }: ConfigRequest, secrets: 'required' | 'optional') {
  const { loadConfig } = await import('../config/load-config.ts');
  const { connectors } = await import('../../connectors/registry.ts');
  return { loaded: loadConfig({ path, env, secrets }), connectors, env, nowMs };
}
