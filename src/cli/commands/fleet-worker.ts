import { statSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { AbortedError } from '../../model/errors.ts';
import { formatCountOf } from '../../text/format-count.ts';
import { defineCommand } from '../frame/command.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';
import { describeWorkerEvent } from '../fleet/describe-worker.ts';
import { METRICS_TYPE } from '../../metrics/metric-facts.ts';
import { type FleetWatch, watchFleet } from '../fleet/watch-fleet.ts';
import { countOption, flagOption, textOption } from '../options/option-kinds.ts';
import { usageError } from '../options/usage-error.ts';
import { openLog } from '../progress/open-log.ts';
import { describeChosen } from '../steps/describe-chosen.ts';
import { DEFAULT_CONFIG } from '../steps/load-settings.ts';
import { type LoadedFleet, loadFleet } from '../steps/load-fleet.ts';

const group = 'Working:';
const metrics = 'Metrics:';
const DEFAULT_LANES = 4;

/** Runs accounts of a fleet. */
export const fleetWorkerCommand = defineCommand({
  description:
    'Stays, takes accounts that are due and syncs them, several at once, each in a process of its own. Start as many ' +
    'workers as you like, on as many machines. SIGTERM drains: runs keep whole pages, which are put away for the next ' +
    'worker. A killed worker costs little: its accounts are taken over once their leases have ended.',
  options: {
    lanes: countOption({
      flag: 'lanes',
      summary: 'Accounts at once, 1 to 64 (default 4)',
      group,
      example: '4',
      max: 64,
    }),
    scratch: textOption({
      flag: 'scratch',
      valueName: 'folder',
      summary: 'Where runs work, on a local disk (default: below the temporary folder)',
      group,
      example: '/var/tmp/sluice',
    }),
    metricsPort: countOption({
      flag: 'metrics-port',
      summary: 'Serve /metrics of the whole fleet, /healthz and /readyz there; 0 for any free port',
      group: metrics,
      example: '9464',
      min: 0,
      max: 65_535,
    }),
    metricsHost: textOption({
      flag: 'metrics-host',
      valueName: 'address',
      summary: 'Address to serve them on (default 127.0.0.1; 0.0.0.0 in a container)',
      group: metrics,
      example: '127.0.0.1',
    }),
    withoutAccounts: flagOption({
      flag: 'without-accounts',
      summary: 'Leave out of /metrics what has a series for each account',
      group: metrics,
    }),
  },
  examples: [
    ['sluice fleet worker', 'Four accounts at once'],
    ['sluice fleet worker --lanes 8 --log-format json', 'In a container'],
    ['sluice fleet worker --metrics-port 9464', 'Watched by Prometheus'],
  ],
  async run(context, { values, globals, announce }) {
    context.chooseStop('close');
    const lanes = values.lanes ?? DEFAULT_LANES;
    const { metricsPort, metricsHost, withoutAccounts } = values;
    if (metricsPort === undefined && (metricsHost ?? withoutAccounts) !== undefined)
      throw usageError(
        `--${metricsHost === undefined ? 'without-accounts' : 'metrics-host'} needs --metrics-port`,
        'For example: --metrics-port 9464',
      );
    const { settings, names } = await loadFleet(context, globals);
    const log = await openLog(context, globals);
    const watch =
      metricsPort === undefined
        ? undefined
        : await startWatch(
            context,
            { settings, names },
            { port: metricsPort, host: metricsHost, withoutAccounts },
          );
    try {
      const what = `a worker with ${formatCountOf(lanes, 'lane')} for ${formatCountOf(names.length, 'account')}, on ${settings.place}`;
      const summary = watch === undefined ? what : `${what}; watch it at ${watch.origin}/metrics`;
      const result = {
        database: settings.place,
        lanes,
        accounts: names.length,
        metricsOrigin: watch?.origin ?? null,
      };
      const greet = () => {
        if (globals.logFormat === 'json' && globals.json !== true)
          log({ level: 'info', message: summary, fields: { type: 'worker-started', ...result } });
        else announce({ exitCode: 0, summary, result, text: `${summary}; SIGTERM drains it` });
      };
      await context.engine.fleet.work({
        settings,
        lanes,
        scratch: findScratch(context, values.scratch),
        config: { path: resolve(context.cwd, globals.config ?? DEFAULT_CONFIG), env: context.env },
        readAccounts: () => readAccounts(context, globals),
        onReady: greet,
        onLook: watch?.fleet.onLook,
        clock: context.clock,
        signal: context.signal,
        onEvent: (event) => {
          log(describeWorkerEvent(event));
        },
        onOutput: (line) => {
          log({ level: 'error', message: line, fields: { type: 'lane-output', line } });
        },
      });
    } finally {
      await watch?.close();
    }
    log({ level: 'info', message: 'the worker has stopped', fields: { type: 'worker-stopped' } });
    const reason: unknown = context.signal.reason;
    return {
      exitCode: reason instanceof AbortedError ? reason.exitCode : 0,
      summary: 'the worker has stopped, and everything is put away',
      result: null,
      text: '',
    };
  },
});

interface WatchOptions {
  readonly port: number;
  readonly host: string | undefined;
  readonly withoutAccounts: boolean | undefined;
}

/** Serves what the fleet is doing, and whether this worker is alive. */
async function startWatch(
  { engine, clock, signal }: CliContext,
  { settings, names }: Pick<LoadedFleet, 'settings' | 'names'>,
  { port, host = '127.0.0.1', withoutAccounts = false }: WatchOptions,
): Promise<{ readonly origin: string; readonly fleet: FleetWatch; close(): Promise<void> }> {
  const reader = await engine.fleet.openReader(settings);
  const fleet = watchFleet({
    read: () => reader.read(names),
    render: (status) => engine.fleet.renderMetrics(status, { withoutAccounts }),
    type: METRICS_TYPE,
    clock,
    signal,
  });
  try {
    const server = await engine.startMetricsServer({ port, host, paths: fleet.paths });
    const close = async () => {
      await server.close();
      await reader.close();
    };
    return { origin: server.origin, fleet, close };
  } catch (error) {
    await reader.close();
    throw error;
  }
}

function findScratch({ cwd }: CliContext, given: string | undefined): string {
  if (
    given !== undefined &&
    statSync(resolve(cwd, given), { throwIfNoEntry: false })?.isDirectory() === false
  )
    throw usageError(`--scratch ${given} is not a folder`, 'Name a folder on a local disk.');
  // A folder for each user: its files are theirs alone.
  return given === undefined ? join(tmpdir(), `sluice-fleet-${userInfo().uid}`) : resolve(cwd, given);
}

/** The accounts of the config as it is now, and what each would read with. */
async function readAccounts(context: CliContext, globals: GlobalValues) {
  const { known, names } = await loadFleet(context, globals);
  const describe = await describeChosen(context, globals, { ...known, places: known.places });
  const sources = new Map(
    names.flatMap((name) => {
      const own = [...describe(name).byKey.values()].flat().find((one) => one.name === name);
      return own === undefined ? [] : [[name, { key: own.key, asks: own.asks }] as const];
    }),
  );
  return { names, sources };
}
