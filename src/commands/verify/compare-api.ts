import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeStateFolder } from '../../../state/lock.ts';
import { readCheckpoint } from '../../../state/checkpoints.ts';
import { readMeta, schemaVersion } from '../../../state/migrations.ts';
import { selectStreams } from '../../config/select-streams.ts';
import { type Clock, systemClock } from '../../model/clock.ts';
import { AbortedError, ConfigError, QuotaError, type SyncError, toSyncError } from '../../model/errors.ts';
import type { Transport } from '../../model/http.ts';
import { RecordClock } from '../../model/record-clock.ts';
import type { ComparedStream, ComparisonReport } from '../../model/reports.ts';
import { toReportedError } from '../../model/run-report.ts';
import type { Settings } from '../../model/settings.ts';
import { sliceIdOf, sliceStream, type Stream } from '../../model/stream.ts';
import { openForReading, openOwnPublished } from '../../warehouse/query-published.ts';
import { compareStream } from './compare-stream.ts';
import { countRequests } from '../../plan/estimate.ts';
import { openApi } from '../../run/open-api.ts';
import type { RunContext } from '../../run/run-context.ts';

export interface CompareOptions {
  readonly streams?: readonly string[];
  /** Requests in all; 50 if omitted. */
  readonly maxRequests?: number;
  /** Most examples of each kind and stream; 5 if omitted. */
  readonly show?: number;
  /** Called once it is known that there is something to compare, before the first request. */
  readonly onBegin?: () => void;
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock | undefined;
  readonly transport?: Transport | undefined;
}

/** Most requests of a comparison if no number is given. */
const COMPARE_REQUESTS = 50;

/**
 * Compares the API with the published tables and lists differences. Streams share the requests evenly; unused ones go
 * to the others. Takes no lock and writes no table; its requests count in the quota that syncs share, and a spent
 * quota ends it.
 */
export async function compareWithApi(
  settings: Settings,
  options: CompareOptions = {},
): Promise<ComparisonReport> {
  const { clock = systemClock, transport, signal, maxRequests = COMPARE_REQUESTS, show = 5 } = options;
  const streams = selectStreams(settings, options.streams).flatMap(sliceStream);
  await assertComparable(settings.readersFile);
  options.onBegin?.();
  const api = await openApi(
    settings,
    { transport, neverWaits: true, maxRequests },
    { clock, emit: () => undefined },
  );
  const aside = makeAside(settings.stateDir);
  try {
    const folders = [join(aside, 'tmp'), join(aside, 'stage')];
    for (const folder of folders) mkdirSync(folder, { mode: 0o700 });
    const database = await openForReading(settings.readersFile, folders);
    const context: RunContext = {
      runId: 'verify',
      settings: { ...settings, stateDir: aside },
      options: {},
      clock,
      recordClock: new RecordClock(clock, undefined),
      source: api.source,
      database,
      signal,
      emit: () => undefined,
      concurrency: Math.max(1, Math.min(settings.quotaLimits.burstPerSecond, 16)),
    };
    try {
      const compared = await compareAll(context, streams, maxRequests, show);
      const quota = await api.source.readQuota();
      return {
        streams: compared,
        requestsSpent: api.source.client.usage.requests,
        quota: quota.limit === undefined ? undefined : quota,
      };
    } finally {
      await database.release();
    }
  } finally {
    await api.close();
    rmSync(aside, { recursive: true, force: true });
  }
}

/** Rejects, before any request, a file that is missing, not ours, or of a different version. */
async function assertComparable(path: string): Promise<void> {
  const database = await openOwnPublished(path);
  const meta = await readMeta(database).finally(() => database.release());
  if (meta.get('schema_version') === String(schemaVersion)) return;
  throw new ConfigError(`${path} was published by another version of Sluice`, {
    code: 'usage_invalid',
    hint: 'Run `sluice sync` first: it brings the file up to date. Nothing was requested.',
    context: { path },
  });
}

async function compareAll(
  context: RunContext,
  streams: readonly Stream[],
  maxRequests: number,
  show: number,
): Promise<readonly ComparedStream[]> {
  const compared: ComparedStream[] = [];
  const shares = shareRequests(await estimateNeeds(context, streams), maxRequests);
  let stopped: SyncError | undefined;
  for (const [at, stream] of streams.entries()) {
    if (stopped !== undefined) {
      compared.push(notCompared(stream, stopped));
      continue;
    }
    const promised = shares.slice(at + 1).reduce((sum, share) => sum + share, 0);
    // It may also use what earlier streams left.
    const budget = Math.max(1, maxRequests - context.source.client.usage.requests - promised);
    try {
      compared.push(await compareStream(context, stream, budget, show));
    } catch (thrown) {
      const error = toSyncError(thrown);
      if (error instanceof AbortedError) throw error;
      compared.push(notCompared(stream, error));
      // A rejected key or a spent quota fails every other request as well.
      if (error.recovery === 'stop-run' && error.code !== 'usage_invalid') stopped = error;
    }
  }
  return compared;
}

/** Requests that each whole stream would take, judging by earlier scans. */
async function estimateNeeds(
  { database }: RunContext,
  streams: readonly Stream[],
): Promise<readonly number[]> {
  const needs: number[] = [];
  for (const stream of streams) {
    const rows = (await readCheckpoint(database, stream.name, sliceIdOf(stream)))?.rowsDeclared;
    const whole = rows === undefined ? Infinity : countRequests(rows, stream.pageSize).requests;
    // The size is requested before the scan begins.
    needs.push(stream.paginated ? whole + 1 : 1);
  }
  return needs;
}

/** Gives small streams what they need and shares the rest among the others. */
export function shareRequests(needs: readonly number[], requests: number): readonly number[] {
  const shares = needs.map(() => 0);
  const order = needs.map((need, at) => ({ need, at })).toSorted((a, b) => a.need - b.need);
  let left = requests;
  for (const [done, { need, at }] of order.entries()) {
    const share = Math.min(need, Math.floor(left / (order.length - done)));
    shares[at] = share;
    left -= share;
  }
  return shares;
}

/** A comparison keeps no pages: hints about a sync's progress do not apply. */
function adviseAgain({ code }: QuotaError): string {
  const when = code === 'request_limit_reached' ? 'with more requests, or for fewer streams' : 'at that time';
  return `Nothing was changed. A comparison keeps no pages and starts over each time: run it again ${when}.`;
}

function notCompared(stream: Stream, error: SyncError): ComparedStream {
  return {
    stream: stream.name,
    slice: sliceIdOf(stream),
    extent: 'none',
    rowsDeclared: undefined,
    rowsCompared: 0,
    rowsInTable: undefined,
    missing: 0,
    extra: undefined,
    differing: 0,
    differs: false,
    examples: [],
    notes: [],
    error: toReportedError(error instanceof QuotaError ? error.withHint(adviseAgain(error)) : error),
  };
}

/** This process's own folder below the state folder; those of dead processes are removed. */
function makeAside(stateDir: string): string {
  makeStateFolder(stateDir);
  for (const name of readdirSync(stateDir)) {
    const pid = /^verify-(\d+)$/.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid)))
      rmSync(join(stateDir, name), { recursive: true, force: true });
  }
  const aside = join(stateDir, `verify-${process.pid}`);
  rmSync(aside, { recursive: true, force: true });
  mkdirSync(aside, { mode: 0o700 });
  return aside;
}

function isAlive(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
