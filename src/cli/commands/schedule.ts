import { AbortedError } from '../../model/errors.ts';
import { METRICS_TYPE } from '../../metrics/metric-facts.ts';
import type { MetricsServerOptions } from '../../metrics/metrics-server.ts';
import type { CronSchedule } from '../../schedule/cron-schedule.ts';
import type { CommandInput, CommandOutcome } from '../frame/command.ts';
import { defineCommand } from '../frame/command.ts';
import type { CliContext } from '../frame/context.ts';
import { countOption, durationOption, flagOption, textOption } from '../options/option-kinds.ts';
import { usageError } from '../options/usage-error.ts';
import type { LogLine } from '../progress/describe-event.ts';
import { openLog } from '../progress/open-log.ts';
import { describeCount, describeStart } from '../schedule/describe-schedule.ts';
import { listHealthPaths } from '../schedule/health-paths.ts';
import { accountsOption } from '../steps/choose-accounts.ts';
import type { PageSource } from '../steps/live-pages.ts';
import { sendsMetrics, withTelemetry } from '../steps/follow-telemetry.ts';
import { metricsFileOption, resolveMetricsFile, withoutStreamsOption } from '../steps/follow-run.ts';
import { followSchedule } from '../schedule/schedule-record.ts';
import { prepareSchedule, startAccounts, startOne } from '../schedule/begin-schedule.ts';
import { runOptions, selectionOptions, toRunOptions, toSelection } from '../steps/sync-options.ts';

const when = 'When:';
const metrics = 'Metrics:';
const DEFAULT_JITTER_MS = 30_000;
const RANDOM_DIGITS = 8;

const scheduleOptions = {
  cron: textOption({
    flag: 'cron',
    valueName: 'expression',
    summary: "Minute, hour, day, month, day of week: '0 6 * * *', or @hourly, @daily (required)",
    group: when,
    example: '0 6 * * *',
  }),
  timezone: textOption({
    flag: 'timezone',
    valueName: 'name',
    summary: "Its time zone, e.g. Europe/Berlin (default the machine's)",
    group: when,
    example: 'Europe/Berlin',
  }),
  jitter: durationOption({
    flag: 'jitter',
    summary: 'Start up to this long after the scheduled time, at random; 0 for exactly on time (default 30s)',
    group: when,
    example: '5m',
    allowsZero: true,
  }),
  now: flagOption({ flag: 'now', summary: 'Also sync at the start', group: when }),
  metricsPort: countOption({
    flag: 'metrics-port',
    summary:
      'Serve /metrics, /healthz, /readyz and the report at / there; 0 for any free port (default: not at all)',
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
  metricsFile: metricsFileOption,
  withoutStreams: withoutStreamsOption,
  accounts: accountsOption,
} as const;

const { streams, force } = selectionOptions;
const { maxRequests, maxWait, deadline, strict } = runOptions;
const allOptions = { ...scheduleOptions, streams, force, maxRequests, maxWait, deadline, strict };

/** Keeps running, and syncs on a schedule. */
export const scheduleCommand = defineCommand({
  description:
    'Runs in the foreground and syncs on a schedule, one run at a time. If runs were missed while it was ' +
    'not running, one run makes up for them. Each run rereads the config. A failed run does not end it.',
  options: allOptions,
  examples: [
    ["sluice schedule --cron '0 6 * * *' --timezone Europe/Berlin", 'Every day at six'],
    ["sluice schedule --cron '15 * * * *' --now --metrics-port 9464", 'Every hour, watched by Prometheus'],
  ],
  async run(context, input) {
    context.chooseStop('close');
    // Its runs last longer than whatever started it: each has a trace of its own.
    const options = { isWithinTrace: false };
    return withTelemetry(context, input.globals, options, (traced) => keepSyncing(traced, input));
  },
});

async function keepSyncing(
  context: CliContext,
  { values, globals, announce }: CommandInput<typeof allOptions>,
): Promise<CommandOutcome> {
  const { clock, engine, signal } = context;
  if (values.cron === undefined)
    throw usageError('schedule needs --cron', "For example: sluice schedule --cron '0 6 * * *'");
  const schedule = await engine.parseCron(values.cron, values.timezone, clock.now());
  const metricsFile = resolveMetricsFile(context, values.metricsFile);
  if (values.metricsHost !== undefined && values.metricsPort === undefined)
    throw usageError('--metrics-host needs --metrics-port', 'For example: --metrics-port 9464');
  const prepared = await prepareSchedule(context, globals, values.accounts);
  const { streams, force, maxRequests, maxWait, deadline, strict } = values;
  const selection = toSelection({
    streams,
    force,
    fullRefresh: undefined,
    from: undefined,
    limit: undefined,
  });
  const limits = { maxRequests, maxWait, deadline, strict };
  const sync = {
    ...selection,
    ...toRunOptions({
      ...limits,
      dryRun: undefined,
      allowEmpty: undefined,
      acceptNewKey: undefined,
      runId: undefined,
    }),
  };
  const log = await openLog(context, globals);
  const metrics = {
    file: metricsFile,
    isWanted: values.metricsPort !== undefined || metricsFile !== undefined || sendsMetrics(context),
    withoutStreams: values.withoutStreams === true,
  };
  const start = { context, globals, sync, metrics, log, schedule, isAsked: values.now === true };
  const { atStart, syncs } =
    prepared.chosen === undefined
      ? await startOne(start, prepared.settings)
      : await startAccounts(start, prepared.chosen, values.accounts);
  const { record } = syncs;
  const { metricsPort, metricsHost } = values;
  const watch =
    metricsPort === undefined
      ? undefined
      : await startWatch(
          context,
          { port: metricsPort, host: metricsHost },
          {
            health: listHealthPaths(context, syncs, METRICS_TYPE),
            openPages: async () => {
              const { openPages } = await import('../steps/page-sources.ts');
              return openPages(context, globals, values.accounts, { showValues: true });
            },
          },
        );
  try {
    const jitterMs = values.jitter ?? DEFAULT_JITTER_MS;
    const isRunDue = atStart !== undefined;
    const began = toStart(context, { schedule, jitterMs, isRunDue, watch, metricsFile });
    // A JSON log gets this as a JSON line too, since a container often merges stdout and stderr.
    if (globals.logFormat === 'json' && globals.json !== true) log(began.line);
    else announce(began.outcome);
    await engine.runSchedule({
      schedule,
      jitterMs,
      atStart,
      run: (reason) => syncs.run(reason),
      onEvent: (event) =>
        followSchedule({ record, save: () => syncs.save(record.facts) }, event, { clock, log }),
      clock,
      random: () => Number.parseInt(context.randomHex(RANDOM_DIGITS), 16) / 16 ** RANDOM_DIGITS,
      signal,
    });
    await syncs.save(undefined);
    if (signal.aborted)
      log({
        level: 'info',
        message: describeCount(syncs.runs),
        fields: { type: 'schedule-stopped', runs: syncs.runs },
      });
  } finally {
    await watch?.close();
  }
  return toStopped(signal, syncs.runs);
}

/** Where a schedule can be watched. */
interface Watch {
  readonly origin: string;
  /** Whether the report is shown there. */
  readonly hasPage: boolean;
  close(): Promise<void>;
}

/** What is shown to those who watch. */
interface Shown {
  readonly health: MetricsServerOptions['paths'];
  readonly openPages: () => Promise<PageSource>;
}

async function startWatch(
  context: CliContext,
  { port, host = '127.0.0.1' }: { readonly port: number; readonly host: string | undefined },
  { health, openPages }: Shown,
): Promise<Watch> {
  const { listPages } = await import('../steps/live-pages.ts');
  const { isShown, openGuard } = await import('../../metrics/page-guard.ts');
  const guard = openGuard(host, context);
  const paths = { ...health, ...listPages(await openPages(), guard) };
  const server = await context.engine.startMetricsServer({ port, host, paths });
  return { origin: server.origin, hasPage: isShown(guard), close: () => server.close() };
}

interface Start {
  readonly schedule: CronSchedule;
  readonly jitterMs: number;
  readonly isRunDue: boolean;
  readonly watch: Watch | undefined;
  readonly metricsFile: string | undefined;
}

function toStart(
  { clock }: CliContext,
  start: Start,
): { readonly outcome: CommandOutcome; readonly line: LogLine } {
  const nowMs = clock.now();
  const { schedule, jitterMs, isRunDue, watch, metricsFile } = start;
  const nextMs = schedule.next(nowMs);
  const result = {
    cron: schedule.expression,
    timezone: schedule.timezone,
    jitterMs,
    nextTime: nextMs === undefined ? null : new Date(nextMs).toISOString(),
    isRunDue,
    metricsOrigin: watch?.origin ?? null,
    metricsFile: metricsFile ?? null,
  };
  const text = describeStart({ ...start, nowMs });
  const summary = `on schedule ${schedule.expression} (${schedule.timezone})`;
  return {
    outcome: { exitCode: 0, summary, result, text },
    line: { level: 'info', message: summary, fields: { type: 'schedule-started', ...result } },
  };
}

function toStopped(signal: AbortSignal, runs: number): CommandOutcome {
  const reason: unknown = signal.reason;
  const stopCode = reason instanceof AbortedError ? reason.exitCode : 130;
  return {
    // A schedule with no dates left has finished normally.
    exitCode: signal.aborted ? stopCode : 0,
    summary: describeCount(runs),
    result: null,
    text: '',
  };
}
