import { existsSync } from 'node:fs';
import { perHour } from '../../model/quota.ts';
import { readContract } from '../../../state/checkpoints.ts';
import { type Clock, systemClock } from '../../model/clock.ts';
import type { ReportData, ReportRequest, StreamFacts } from '../../model/report-data.ts';
import type { StatusReport } from '../../model/reports.ts';
import type { OfflineSettings } from '../../model/settings.ts';
import { nameScan } from '../../model/stream.ts';
import { describeRestore, describeUnknownRestore } from '../../text/describe-restore.ts';
import { version } from '../../model/version.ts';
import type { Database } from '../../warehouse/database.ts';
import { withPublished } from '../../warehouse/query-published.ts';
import { readRecentRuns } from '../../../state/recent-runs.ts';
import { readStatus } from '../status.ts';
import { countRequests } from './count-requests.ts';
import { findHiddenValues, readMadeRules } from './hidden-values.ts';
import { readQuarantineReasons, readSchemaChanges } from './read-findings.ts';
import { type History, type LastAttempt, readHistory } from './read-history.ts';
import { readTables } from './read-tables.ts';
import { formatCount, verbOf } from '../../text/format-count.ts';

/** Streams and slices that are shown. */
const MOST_STREAMS = 500;

/**
 * Gathers what the report shows, from the published file and the run file: never from the work file, which a run
 * may hold. Everything is bounded, in rows and in time.
 */
export async function gatherReport(
  settings: OfflineSettings,
  { showValues }: ReportRequest,
  { clock = systemClock, extent = 'all' }: Partial<Pick<Gathering, 'clock' | 'extent'>> = {},
): Promise<ReportData> {
  const gathering = { showValues, clock, extent };
  if (!existsSync(settings.readersFile)) return gather(settings, undefined, gathering);
  return withPublished(settings, (database) => gather(settings, database, gathering));
}

interface Gathering extends ReportRequest {
  readonly clock: Clock;
  /** `overview` leaves out what the tables hold, which takes longest. */
  readonly extent: 'all' | 'overview';
}

async function gather(
  settings: OfflineSettings,
  database: Database | undefined,
  gathering: Gathering,
): Promise<ReportData> {
  const { showValues, clock } = gathering;
  const nowMs = clock.now();
  const recent = readRecentRuns(settings.stateDir);
  const status = await readStatus(settings, nowMs, database);
  const history = await readHistory(database, recent);
  // The views of an incomplete lake fail, or return what is left.
  const isWhole = status.losses === undefined;
  const held = await readPublished(
    settings,
    database,
    isWhole ? gathering : { ...gathering, extent: 'overview' },
  );
  const { quota, published, refused } = status;
  const { windowMs } = settings.quotaLimits;
  return {
    madeAt: new Date(nowMs).toISOString(),
    version,
    source: { connector: settings.connector.name, baseUrl: settings.baseUrl.href },
    published: published && { path: settings.readersFile, ...published },
    showsValues: showValues,
    warnings: [...settings.warnings, ...(published === undefined ? describeLostState(status) : [])],
    faults: status.faults ?? [],
    losses: status.losses ?? [],
    ...describeStreams(status, history, held.leftOut),
    runs: history.runs,
    underWay: status.underWay,
    refused,
    requests: await countRequests(database, recent, {
      nowMs,
      limit: quota?.limit === undefined ? undefined : perHour(quota.limit, windowMs),
    }),
    quota: quota && { ...quota, windowMs },
    tables: held.tables,
    schemaChanges: held.schemaChanges,
    quarantine: held.quarantine,
  };
}

/** With nothing published here, the state may be elsewhere. */
function describeLostState({ restoresFrom, restoreUnknown }: StatusReport): readonly string[] {
  if (restoresFrom !== undefined) return [describeRestore(restoresFrom)];
  if (restoreUnknown === undefined) return [];
  return [`${describeUnknownRestore(restoreUnknown.message)}. ${restoreUnknown.hint}`];
}

type Held = Pick<ReportData, 'tables' | 'schemaChanges' | 'quarantine' | 'leftOut'>;

async function readPublished(
  settings: OfflineSettings,
  database: Database | undefined,
  { showValues, clock, extent }: Gathering,
): Promise<Held> {
  if (database === undefined) {
    const none = { total: 0, newest: [] };
    return { tables: [], schemaChanges: none, quarantine: { total: 0, reasons: [] }, leftOut: [] };
  }
  const made = await readMadeRules(database);
  const pending = new Set(
    settings.streams
      .filter((stream) => findHiddenValues(stream, made(stream.name), []).isPending)
      .map(({ name }) => name),
  );
  const known = new Set(settings.streams.map(({ name }) => name));
  const { tables, leftOut } =
    extent === 'overview'
      ? { tables: [], leftOut: [] }
      : await readTables(database, settings, {
          clock,
          showValues,
          hidden: async (stream) =>
            findHiddenValues(stream, made(stream.name), await readContract(database, stream.name)),
        });
  return {
    tables,
    leftOut,
    schemaChanges: await readSchemaChanges(database),
    // The rules of streams removed from the config are not known.
    quarantine: await readQuarantineReasons(
      database,
      (stream) => showValues && known.has(stream) && !pending.has(stream),
    ),
  };
}

function describeStreams(
  { streams }: StatusReport,
  { attempts }: History,
  leftOut: readonly string[],
): Pick<ReportData, 'streams' | 'leftOut'> {
  const facts = streams.map((row): StreamFacts => {
    const own = attempts.get(nameScan(row.stream, row.slice)) ?? [];
    return { ...row, attempts: own.map(withoutWords), lastAttempt: own.findLast(isAttempt) };
  });
  const more = facts.length - MOST_STREAMS;
  if (more <= 0) return { streams: facts, leftOut };
  const note = `${formatCount(more)} of ${formatCount(facts.length)} streams and slices ${verbOf(more, 'is', 'are')} left out; \`sluice status\` lists them all.`;
  // Failed attempts are what the report is for.
  const sorted = facts.toSorted((a, b) => Number(isSettled(a)) - Number(isSettled(b)));
  return { streams: sorted.slice(0, MOST_STREAMS), leftOut: [note, ...leftOut] };
}

function withoutWords({ runId, startedAt, status, verdict }: LastAttempt) {
  return { runId, startedAt, status, verdict };
}

function isAttempt({ status }: LastAttempt): boolean {
  return ['complete', 'failed', 'stopped', 'unavailable'].includes(status);
}

function isSettled({ lastAttempt, verdict }: StreamFacts): boolean {
  return lastAttempt?.status === 'complete' && verdict === 'verified';
}
