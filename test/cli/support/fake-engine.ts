import type { ClientEngine } from '../../../src/cli/frame/client-engine.ts';
import type { Engine } from '../../../src/cli/frame/engine.ts';
import type { FleetEngine } from '../../../src/cli/frame/fleet-engine.ts';
import type { OfflineSettings, Settings } from '../../../src/model/settings.ts';
import { makeRunReport } from './reports.ts';

/** The key every fake setting holds: no output may show it. */
export const SECRET = 'sk-test-4711-secret';

// Commands only hand settings on; these are the members they read themselves.
const settings = {
  readersFile: '/data/warehouse.duckdb',
  stateDir: '/data/.sluice',
  ledgerDir: '/data/quota',
  destinations: [],
  credentials: { kind: 'api-key', secret: SECRET },
  baseUrl: new URL('http://127.0.0.1/api/v1'),
  notify: {},
  warnings: [],
} as unknown as Settings;

/** A recorded call of the engine. */
export interface EngineCall {
  readonly name: string;
  readonly arguments: readonly unknown[];
}

/** What a test answers for an engine; what it leaves out has the usual answer. */
export type FakeAnswers = Partial<Omit<Engine, 'fleet' | 'clients'>> & {
  readonly fleet?: Partial<FleetEngine>;
  readonly clients?: Partial<ClientEngine>;
};

/** An engine that records its calls and answers with what a test gives it. */
export function createFakeEngine({ fleet, clients, ...answers }: FakeAnswers = {}): {
  readonly engine: Engine;
  readonly calls: readonly EngineCall[];
} {
  const calls: EngineCall[] = [];
  const usual: Engine = {
    loadSettings: () => Promise.resolve(settings),
    loadOfflineSettings: () => Promise.resolve(settings as OfflineSettings),
    queryAccounts: () => refuse('queryAccounts'),
    planSharedQuotas: () => Promise.resolve([]),
    streamAccounts: () => refuse('streamAccounts'),
    publishJoint: () => Promise.resolve({ files: [], error: undefined }),
    findJointFaults: () => Promise.resolve([]),
    tryJoint: () => Promise.resolve([]),
    findLeftovers: () => Promise.resolve([]),
    findLeftover: () => Promise.resolve(undefined),
    planRemoval: () => refuse('planRemoval'),
    removeAccount: () => refuse('removeAccount'),
    listAccounts: () => Promise.resolve(undefined),
    clients: {
      resolveConfig: () => Promise.resolve(settings),
      listStreams: () => Promise.resolve([]),
      withChanges: () => refuse('clients.withChanges'),
    },
    fleet: {
      loadSettings: () => refuse('fleet.loadSettings'),
      init: () => refuse('fleet.init'),
      work: () => refuse('fleet.work'),
      read: () => refuse('fleet.read'),
      openReader: () => refuse('fleet.openReader'),
      renderMetrics: () => refuse('fleet.renderMetrics'),
      makeReport: () => refuse('fleet.makeReport'),
      check: () => Promise.resolve(undefined),
      change: () => refuse('fleet.change'),
      repair: () => refuse('fleet.repair'),
    },
    explainConfig: () => Promise.resolve([]),
    buildConfigTemplate: ({ baseUrl, duckdb }) =>
      Promise.resolve(
        `source:\n  # where\n  baseUrl: ${baseUrl}   # url\ndestination:\n  duckdb: ${duckdb}\n`,
      ),
    guessStateDir: () => Promise.resolve(undefined),
    runSync: () => Promise.resolve(makeRunReport()),
    keepRefusal: () => Promise.resolve(),
    settleRefusal: () => Promise.resolve(),
    findUnreadableState: () => Promise.resolve(undefined),
    findRefusal: () => Promise.resolve(undefined),
    planSync: () => refuse('planSync'),
    planOffline: () => refuse('planOffline'),
    runChecks: () => refuse('runChecks'),
    discover: () => refuse('discover'),
    listQuarantine: () => refuse('listQuarantine'),
    showQuarantined: () => refuse('showQuarantined'),
    retryQuarantine: () => refuse('retryQuarantine'),
    showSchema: () => refuse('showSchema'),
    diffSchema: () => refuse('diffSchema'),
    exportSchema: () => refuse('exportSchema'),
    exportJointSchema: () => refuse('exportJointSchema'),
    verifyState: () => refuse('verifyState'),
    compareWithApi: () => refuse('compareWithApi'),
    readState: () => refuse('readState'),
    importState: () => refuse('importState'),
    resetState: () => refuse('resetState'),
    exportTables: () => refuse('exportTables'),
    maintainLakes: () => refuse('maintainLakes'),
    rebuildStreams: () => refuse('rebuildStreams'),
    readStatus: () => refuse('readStatus'),
    readRecentRuns: () => Promise.resolve([]),
    readRuns: () => Promise.resolve([]),
    readRun: () => Promise.resolve(makeRunReport()),
    makeReport: () => refuse('makeReport'),
    makeAccountsReport: () => refuse('makeAccountsReport'),
    makeDictionary: () => refuse('makeDictionary'),
    makeAccountsDictionary: () => refuse('makeAccountsDictionary'),
    queryPublished: () => Promise.resolve({ columns: [], rows: [] }),
    streamPublished: async (_path, _sql, { take }) => {
      await take({ columns: [], rows: [] });
    },
    startSimulator: () => refuse('startSimulator'),
    listScenarios: () => Promise.resolve([]),
    readVersion: () => Promise.resolve('9.9.9'),
    parseCron: (expression) =>
      Promise.resolve({ expression, timezone: 'UTC', next: (afterMs) => afterMs + 3_600_000 }),
    owesRun: () => Promise.resolve(false),
    runSchedule: () => Promise.resolve(),
    notifyAccounts: () => Promise.resolve([]),
    notifyRun: () => Promise.resolve([]),
    collectMetrics: () =>
      Promise.resolve({
        facts: { status: undefined, totals: undefined, lastRun: undefined, keyExpiresAt: undefined },
        warnings: [],
      }),
    renderAccountMetrics: () => Promise.resolve(''),
    renderMetrics: () => Promise.resolve(''),
    listMetrics: () => Promise.resolve([]),
    listAccountMetrics: () => Promise.resolve([]),
    openTelemetry: () => Promise.resolve({ telemetry: undefined, warnings: [] }),
    writeMetricsFile: () => Promise.resolve(),
    startMetricsServer: () => refuse('startMetricsServer'),
  };
  const { fleet: usualFleet, clients: usualClients, ...others } = { ...usual, ...answers };
  // Every command asks for the accounts first, every check for a fleet, every sync for telemetry; most tests have none.
  const silent = ['listAccounts', 'fleet.check', 'openTelemetry'];
  const record = (all: object, prefix = '') =>
    Object.fromEntries(
      Object.entries(all).map(([name, answer]) => [
        name,
        (...given: unknown[]) => {
          if (!silent.includes(prefix + name)) calls.push({ name: prefix + name, arguments: given });
          return (answer as (...given: unknown[]) => unknown)(...given);
        },
      ]),
    );
  const engine = {
    ...record(others),
    fleet: record({ ...usualFleet, ...fleet }, 'fleet.'),
    clients: record({ ...usualClients, ...clients }, 'clients.'),
  };
  return { engine: engine as unknown as Engine, calls };
}

function refuse(name: string): Promise<never> {
  return Promise.reject(new Error(`the test gave no answer for ${name}`));
}
