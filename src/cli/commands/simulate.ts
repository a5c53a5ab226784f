import { AbortedError } from '../../model/errors.ts';
import type { Scenario } from '../../simulator/scenario.ts';
import type { CommandOutcome } from '../frame/command.ts';
import { defineCommand } from '../frame/command.ts';
import { countOption, dateOption, flagOption, patternOption, textOption } from '../options/option-kinds.ts';
import { quoteForShell } from '../options/quote-for-shell.ts';
import { formatCount, formatCountOf } from '../../text/format-count.ts';
import { describeScenario, renderScenarios, toScenarioResult } from '../../render/render-scenarios.ts';
import { describeServedAccounts } from '../../render/render-simulated-accounts.ts';
import { placeAccounts } from '../../config/config-template.ts';
import { chooseSimulatedAccounts } from '../steps/simulated-accounts.ts';

const group = 'Simulator:';
const DEFAULT_PORT = 4010;
const DAY_MS = 86_400_000;
// Starts in the past, so that days advanced by hand do not get ahead of the server's clock.
const DEFAULT_AGE_DAYS = 7;
const KEY_DIGITS = 16;

/** A stand-in for the API. */
export const simulateCommand = defineCommand({
  description:
    'Serves a simulated API with its quota and data until it is stopped. Control it ' +
    'with POST /_simulator/advance-day and GET /_simulator/state. With a scenario it misbehaves in ' +
    'one way, so that you can see how a sync copes.',
  options: {
    port: countOption({
      flag: 'port',
      summary: `Port to listen on, 0 for any free one (default ${DEFAULT_PORT})`,
      group,
      example: String(DEFAULT_PORT),
      min: 0,
      max: 65_535,
    }),
    host: textOption({
      flag: 'host',
      valueName: 'address',
      summary: 'Address to listen on (default 127.0.0.1)',
      group,
      example: '127.0.0.1',
    }),
    key: patternOption({
      flag: 'key',
      valueName: 'key',
      summary: 'The made-up key it accepts, never a real one (default: a new one on each start)',
      group,
      // A new one is not in the environment, so it is not masked as a secret.
      example: 'my-simulator-key',
      pattern: /^[\x21-\x7e]{1,200}$/,
      problem: 'must be 1 to 200 visible ASCII characters',
    }),
    accounts: textOption({
      flag: 'accounts',
      valueName: 'names',
      summary: 'Accounts to serve, each with a new key, a quota and data of its own',
      group,
      example: 'acme,globex,initech',
    }),
    revoked: textOption({
      flag: 'revoked',
      valueName: 'names',
      summary: 'Those of them whose key is revoked',
      group,
      example: 'globex',
    }),
    requestsPerHour: countOption({
      flag: 'requests-per-hour',
      summary: 'Hourly quota (default 600)',
      group,
      example: '600',
    }),
    burst: countOption({
      flag: 'burst',
      summary: 'Requests per second (default 10)',
      group,
      example: '10',
    }),
    day: dateOption({
      flag: 'day',
      summary: 'The newest day its data has (default 7 days ago)',
      group,
      example: '2026-01-31',
    }),
    scenario: patternOption({
      flag: 'scenario',
      valueName: 'name',
      summary: 'A way to misbehave, e.g. refresh-mid-scan (default: none)',
      group,
      example: 'refresh-mid-scan',
      pattern: /^[a-z0-9][a-z0-9-]{0,60}$/i,
      problem: 'must be the name of a scenario',
    }),
    listScenarios: flagOption({
      flag: 'list-scenarios',
      summary: 'List the scenarios and exit',
      group,
    }),
    seed: countOption({
      flag: 'seed',
      valueName: 'number',
      summary: 'Other data of the same kind (default 1)',
      group,
      example: '7',
      min: 0,
      max: 2_147_483_647,
    }),
  },
  examples: [
    ['sluice simulate', 'On port 4010, until Ctrl-C'],
    ['sluice simulate --requests-per-hour 20', 'See what a sync does when the quota runs out'],
    ['sluice simulate --scenario refresh-mid-scan', 'See what it does when the data changes during the scan'],
    ['sluice simulate --list-scenarios', 'See the other scenarios'],
    [
      'sluice simulate --accounts acme,globex,initech --revoked globex',
      'See a sync of several accounts, one of which is refused',
    ],
  ],
  async run(context, { values, announce }) {
    const { signal, clock, engine, output } = context;
    if (values.listScenarios === true) {
      const groups = await engine.listScenarios();
      const text = renderScenarios(groups, output.stdout.columns());
      return { exitCode: 0, summary: 'the scenarios', result: groups.flatMap(toScenarioResult), text };
    }
    context.chooseStop('close');
    const { port = DEFAULT_PORT, host = '127.0.0.1', requestsPerHour, burst, seed } = values;
    // Clients remember what is left of a key's hour: with an old key they would apply the last simulator's
    // quota to a restarted one with other limits.
    const accounts = chooseSimulatedAccounts(
      values,
      (name) => `sim-${name}-${context.randomHex(KEY_DIGITS)}`,
    );
    const key = values.key ?? `sim-${context.randomHex(KEY_DIGITS)}`;
    const day = values.day ?? formatDay(clock.now() - DEFAULT_AGE_DAYS * DAY_MS);
    const { scenario: name } = values;
    const limited = { requestsPerHour, burstPerSecond: burst };
    const whose = accounts === undefined ? { key } : { accounts };
    const request = { port, host, ...whose, day, seed, ...limited, scenario: name };
    const simulator = await engine.startSimulator(request);
    try {
      const { baseUrl, origin, scenario } = simulator;
      const limits = { requestsPerHour: requestsPerHour ?? 600, burstPerSecond: burst ?? 10 };
      const places =
        accounts === undefined
          ? { duckdb: './simulated.duckdb' }
          : placeAccounts(
              '.',
              accounts.map((account) => account.name),
            );
      const config = await engine.buildConfigTemplate({ baseUrl, ...places });
      const settings = listSettings(config);
      const served = { baseUrl, origin, day, settings, ...limits };
      const text =
        accounts === undefined
          ? describeServer({ ...served, key: simulator.key, scenario })
          : describeServedAccounts({ ...served, accounts });
      const result = {
        baseUrl,
        origin,
        ...(accounts === undefined ? { key: simulator.key } : { accounts }),
        day,
        ...limits,
        config,
        ...(scenario && { scenario: describeScenario(scenario) }),
      };
      announce({ exitCode: 0, summary: `serving ${baseUrl}`, result, text });
      await waitForAbort(signal);
    } finally {
      await simulator.close();
    }
    return toStoppedOutcome(signal);
  },
});

/** The lines of a config without its comments. */
function listSettings(config: string): readonly string[] {
  return config
    .split('\n')
    .filter((line) => line.trim() !== '' && !/^\s*#/.test(line))
    .map((line) => line.replace(/\s+#.*$/, ''));
}

function formatDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

interface ServerDescription {
  readonly baseUrl: string;
  readonly origin: string;
  readonly key: string;
  readonly day: string;
  readonly requestsPerHour: number;
  readonly burstPerSecond: number;
  readonly settings: readonly string[];
  readonly scenario: Scenario | undefined;
}

function describeServer({
  baseUrl,
  origin,
  key,
  day,
  requestsPerHour,
  burstPerSecond,
  settings,
  scenario,
}: ServerDescription) {
  return [
    ...(scenario === undefined ? [] : [`${scenario.name}: ${scenario.sentence}`, '']),
    `Serving ${baseUrl}: data up to ${day}, ${formatCountOf(requestsPerHour, 'request')} an hour, ` +
      `${formatCount(burstPerSecond)} a second.`,
    '',
    'A config for it, e.g. in simulated.yaml:',
    '',
    ...settings.map((line) => `  ${line}`),
    '',
    'Then:',
    `  export ANALYTICS_API_KEY=${quoteForShell(key)}`,
    ...describeSteps(scenario, origin),
    '',
    'Ctrl-C stops it.',
  ].join('\n');
}

function describeSteps(scenario: Scenario | undefined, origin: string): readonly string[] {
  const nextDay = `  curl -X POST ${origin}/_simulator/advance-day`;
  // The simulated day passes in no time, so by the freshness rule nothing could be new yet.
  if (scenario === undefined)
    return ['  npx sluice sync -c simulated.yaml', nextDay, '  npx sluice sync --force -c simulated.yaml'];
  const steps = scenario.steps.map((step) =>
    step === 'advance-day' ? nextDay : `  npx sluice ${step} -c simulated.yaml --streams ${scenario.stream}`,
  );
  return [...steps, '', `To see: ${scenario.watch}`];
}

function waitForAbort(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function toStoppedOutcome(signal: AbortSignal): CommandOutcome {
  const reason: unknown = signal.reason;
  const exitCode = reason instanceof AbortedError ? reason.exitCode : 130;
  return { exitCode, summary: 'stopped', result: null, text: '' };
}
