import { existsSync } from 'node:fs';
import { readCheckpoints } from '../../state/checkpoints.ts';
import { selectStreams } from '../config/select-streams.ts';
import { type Clock, systemClock } from '../model/clock.ts';
import { toSyncError } from '../model/errors.ts';
import type { ApiClient, Transport } from '../model/http.ts';
import type { PlannedStream, PlanReport } from '../model/reports.ts';
import type { Settings, SyncOptions } from '../model/settings.ts';
import type { Checkpoint, Stream } from '../model/stream.ts';
import { openPublished } from '../warehouse/query-published.ts';
import { quoteIdentifier } from '../warehouse/identifiers.ts';
import { readStage } from '../warehouse/stage-store.ts';
import { countRequests, estimateDuration } from './estimate.ts';
import { hashQuestion, STAGE_LIFETIME_MS, stageFolder } from './fetch-scan.ts';
import { openApi } from './open-api.ts';
import { planStream } from './plan-scan.ts';
import type { ScanPlan } from './scan.ts';
import { requestPage } from './request-page.ts';
import { toReportedError } from './sync-stream.ts';

export interface PlanOptions extends SyncOptions {
  /** Spend no request: sizes are those of the last scan. */
  readonly offline: boolean;
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock | undefined;
  readonly transport?: Transport | undefined;
}

/**
 * What the next sync would do: rows, pages, requests, hourly windows and time. Spends at most one request
 * a stream and writes nothing; what earlier runs learned is read from the published file.
 */
export async function planSync(settings: Settings, options: PlanOptions): Promise<PlanReport> {
  const clock = options.clock ?? systemClock;
  const startedAtMs = clock.now();
  const streams = selectStreams(settings, options.streams);
  const known = await readKnown(settings);
  const api = openApi(settings, options, { clock, emit: () => undefined, startedAtMs });
  try {
    const planned: PlannedStream[] = [];
    for (const stream of streams) {
      const before = planned.find(({ error }) => error?.exitCode === 3 || error?.exitCode === 75)?.error;
      const checkpoint = known.checkpoints.get(stream.name);
      if (before !== undefined && !options.offline)
        planned.push({ ...emptyPlan(stream), action: 'failed', error: before });
      else planned.push(await planOne(settings, options, stream, checkpoint, known, api.client, startedAtMs));
    }
    const quota = api.quota.snapshot();
    const requestsPerHour =
      quota.limit ??
      settings.quotaLimits.requestsPerHourCeiling ??
      settings.quotaLimits.defaultRequestsPerHour;
    const totals = {
      rows: total(planned, 'rows'),
      pages: total(planned, 'pages'),
      requests: total(planned, 'requests'),
    };
    const { burstPerSecond, reserve } = settings.quotaLimits;
    const estimate =
      totals.requests === undefined
        ? undefined
        : estimateDuration({
            requests: totals.requests,
            requestsPerHour,
            burstPerSecond,
            reserve,
            quota,
            nowMs: clock.now(),
          });
    return {
      offline: options.offline,
      streams: planned,
      totals,
      requestsSpent: api.client.usage.requests,
      quota: { ...quota, requestsPerHour },
      windows: estimate?.windows,
      etaMs: estimate?.etaMs,
    };
  } finally {
    await api.close();
  }
}

interface Known {
  readonly checkpoints: ReadonlyMap<string, Checkpoint>;
  /** Rows of the published table from a cursor date on. */
  readonly countFrom: (stream: Stream, column: string, from: string) => Promise<number | undefined>;
}

async function readKnown(settings: Settings): Promise<Known> {
  const path = settings.duckdbPath;
  if (!existsSync(path)) return { checkpoints: new Map(), countFrom: () => Promise.resolve(undefined) };
  const database = await openPublished(path);
  try {
    const checkpoints = await readCheckpoints(database);
    return {
      checkpoints: new Map(checkpoints.map((checkpoint) => [checkpoint.stream, checkpoint])),
      countFrom,
    };
  } finally {
    await database.release();
  }

  async function countFrom(stream: Stream, column: string, from: string): Promise<number | undefined> {
    const reader = await openPublished(path);
    try {
      return await reader.count(
        `SELECT count(*) FROM main.${quoteIdentifier(stream.table)} WHERE ${quoteIdentifier(column)} >= $1::DATE`,
        [from],
      );
    } catch {
      return undefined;
    } finally {
      await reader.release();
    }
  }
}

async function planOne(
  settings: Settings,
  options: PlanOptions,
  stream: Stream,
  checkpoint: Checkpoint | undefined,
  known: Known,
  client: ApiClient,
  nowMs: number,
): Promise<PlannedStream> {
  const plan = planStream(stream, checkpoint, options, nowMs);
  if (plan.action === 'skip')
    return { ...emptyPlan(stream), action: 'skip-fresh', rows: 0, pages: 0, requests: 0, note: plan.reason };
  const { scan } = plan;
  const base: PlannedStream = { ...emptyPlan(stream), action: scan.mode, from: scan.from, note: scan.reason };
  try {
    const rows = options.offline
      ? await estimateRows(stream, scan, checkpoint, known)
      : (await requestPage(settings, client, stream, scan.from, 0, options.signal)).total;
    return { ...base, ...(await countWork(settings, options, stream, scan, rows, nowMs)) };
  } catch (thrown) {
    const error = toSyncError(thrown);
    const unavailable = error.code === 'stream_not_found' && !stream.named;
    return unavailable
      ? {
          ...base,
          action: 'unavailable',
          rows: 0,
          pages: 0,
          requests: 0,
          note: 'the API has no such endpoint (404)',
        }
      : { ...base, action: 'failed', error: toReportedError(error) };
  }
}

async function estimateRows(
  stream: Stream,
  scan: ScanPlan,
  checkpoint: Checkpoint | undefined,
  known: Known,
): Promise<number | undefined> {
  if (scan.mode === 'full' || scan.from === undefined) return checkpoint?.rowsDeclared;
  return checkpoint?.cursorField === undefined
    ? undefined
    : known.countFrom(stream, checkpoint.cursorField, scan.from);
}

async function countWork(
  settings: Settings,
  options: PlanOptions,
  stream: Stream,
  scan: ScanPlan,
  rows: number | undefined,
  nowMs: number,
): Promise<Partial<PlannedStream>> {
  if (!stream.paginated) return { rows, pages: 1, requests: 1 };
  if (rows === undefined) return { rows };
  const work = countRequests(Math.min(rows, options.limit ?? Infinity), stream.pageSize);
  const held = await countHeldPages(settings, options, stream, scan, nowMs);
  if (held === 0) return { rows, ...work };
  return {
    action: 'resume',
    rows,
    pages: work.pages,
    requests: Math.max(2, work.requests - held + 1),
    note: `${held} pages are staged already`,
  };
}

async function countHeldPages(
  settings: Settings,
  options: PlanOptions,
  stream: Stream,
  scan: ScanPlan,
  nowMs: number,
): Promise<number> {
  const staged = await readStage(stageFolder(settings.stateDir, stream));
  if (
    staged === undefined ||
    staged.scan.question !== hashQuestion(settings, stream, scan.from, options.limit)
  )
    return 0;
  return nowMs - staged.scan.startedAtMs > STAGE_LIFETIME_MS ? 0 : staged.pages.length;
}

function emptyPlan(stream: Stream): PlannedStream {
  return {
    stream: stream.name,
    action: 'full',
    from: undefined,
    rows: undefined,
    pages: undefined,
    requests: undefined,
    note: undefined,
    error: undefined,
  };
}

function total(streams: readonly PlannedStream[], what: 'rows' | 'pages' | 'requests'): number | undefined {
  return streams.reduce<number | undefined>((sum, stream) => {
    const value = stream[what];
    return sum === undefined || value === undefined ? undefined : sum + value;
  }, 0);
}
