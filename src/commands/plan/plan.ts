import { selectStreams } from '../../config/select-streams.ts';
import { type Clock, systemClock } from '../../model/clock.ts';
import { DAY_MS } from '../../model/dates.ts';
import { buildNothingFoundError, type SyncError, toSyncError } from '../../model/errors.ts';
import type { Transport } from '../../model/http.ts';
import { noQuota, type QuotaSnapshot } from '../../model/quota.ts';
import type { PlannedStream, PlanReport } from '../../model/plan-report.ts';
import type { OfflineSettings, Settings, SyncOptions } from '../../model/settings.ts';
import {
  type Checkpoint,
  mayBeUnavailable,
  nameOf,
  sliceIdOf,
  sliceStream,
  type Stream,
} from '../../model/stream.ts';
import { findRefusedKeys, type RefusedKeys } from './find-refused-keys.ts';
import { countWork } from './count-work.ts';
import { estimateDisk } from './estimate-disk.ts';
import { estimateDuration, requestsPerDay, requestsPerWindow, totalOf } from '../../plan/estimate.ts';
import { hideSecrets } from '../../storage/hide-secrets.ts';
import { readRecentRuns } from '../../../state/recent-runs.ts';
import { lookForRestore } from '../../storage/restore-work-file.ts';
import { describeRestore, describeUnknownRestore } from '../../text/describe-restore.ts';
import { estimateRows, type Known, readKnown } from './known-sizes.ts';
import { openApi } from '../../run/open-api.ts';
import { planStream } from '../../plan/plan-scan.ts';
import { assertSameSource, type KeyCheck, noKeyCheck, planKeyCheck } from './plan-key-check.ts';
import { isAnySliceRead } from '../../plan/slices-read.ts';
import type { ScanPlan } from '../../plan/scan-plan.ts';
import { requestPage } from '../../read/request-page.ts';
import { ONE_VERSION_MS } from '../../read/page-span.ts';
import { countReadable } from '../../read/requests-left.ts';
import { sampleDocument } from '../../read/sample-document.ts';
import { toReportedError } from '../../model/run-report.ts';
import { perHour } from '../../model/quota.ts';
import { formatCountOf } from '../../text/format-count.ts';

export interface PlanOptions extends SyncOptions {
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock | undefined;
  readonly transport?: Transport | undefined;
}

/**
 * What the next sync would do: rows, pages, requests, windows of the quota and time. Spends at most one request
 * per stream and writes nothing; what earlier runs learned comes from the published file or, without it, the work file.
 */
export async function planSync(settings: Settings, options: PlanOptions): Promise<PlanReport> {
  const clock = options.clock ?? systemClock;
  const keyCheck = await planKeyCheck(settings, options);
  const api = await openApi(
    settings,
    { ...options, neverWaits: true, maxTries: 1 },
    { clock, emit: () => undefined },
  );
  try {
    let stopped: SyncError | undefined;
    const known = await readKnown(settings);
    const sizeOf: SizeOf = async (stream, scan, checkpoint) => {
      // A plan costs one request per stream: for other slices it uses what earlier runs saw.
      if (stream.slice !== undefined && !isFirstSlice(stream))
        return { rows: await estimateRows(stream, scan, checkpoint, known) };
      // A rejected key or a spent quota fails every other request as well.
      if (stopped !== undefined) throw stopped;
      try {
        const { signal } = options;
        const asking = { settings, source: api.source, signal, clock };
        if (stream.paginated)
          return { rows: (await requestPage(asking, stream, { from: scan.from, offset: 0 })).total };
        const { total, slowness } = await sampleDocument(asking, stream, scan.from, 0);
        return { rows: total ?? (await estimateRows(stream, scan, checkpoint, known)), note: slowness };
      } catch (thrown) {
        const error = toSyncError(thrown);
        if (error.recovery === 'stop-run') stopped = error;
        throw error;
      }
    };
    const streams = refuseNothing(settings, await planStreams({ settings, options, known, clock, sizeOf }));
    const { requests } = api.source.client.usage;
    const notes = [...keyCheck.notes, ...(await noteRestore(settings, known))];
    const facts = { nowMs: clock.now(), quota: await api.source.readQuota(), keyCheck, notes };
    const plan = { ...summarize(settings, streams, facts), offline: false, requestsSpent: requests };
    return hideSecrets(settings, {
      ...plan,
      disk: await estimateDisk(settings, plan).catch(() => undefined),
    });
  } finally {
    await api.close();
  }
}

/** The same without any request, and without a key: sizes are those that earlier runs saw. */
export async function planOffline(settings: OfflineSettings, options: PlanOptions): Promise<PlanReport> {
  const clock = options.clock ?? systemClock;
  await assertSameSource(settings);
  const known = await readKnown(settings);
  const sizeOf: SizeOf = async (stream, scan, checkpoint) => ({
    rows: await estimateRows(stream, scan, checkpoint, known),
  });
  const streams = await planStreams({ settings, options, known, clock, sizeOf });
  const seen = readRecentRuns(settings.stateDir).find(({ quota }) => quota !== undefined)?.quota;
  const notes = await noteRestore(settings, known);
  const facts = { nowMs: clock.now(), quota: seen ?? noQuota, keyCheck: noKeyCheck, notes };
  const plan = { ...summarize(settings, streams, facts), offline: true, requestsSpent: 0 };
  return { ...plan, disk: await estimateDisk(settings, plan).catch(() => undefined) };
}

/** A plan without what earlier runs learned is that of a first sync, which the next one may not be. */
async function noteRestore(settings: OfflineSettings, { checkpoints }: Known): Promise<readonly string[]> {
  if (checkpoints.size > 0) return [];
  const { restoresFrom, restoreUnknown } = await lookForRestore(settings);
  if (restoresFrom !== undefined)
    return [
      `${describeRestore(restoresFrom)} It may read far less than a first sync, which is planned here.`,
    ];
  if (restoreUnknown === undefined) return [];
  const { message, hint } = restoreUnknown;
  return [`${describeUnknownRestore(message)}. ${hint}`];
}

/** Rows a scan would read, undefined if unknown, and what was noticed. */
type SizeOf = (
  stream: Stream,
  scan: ScanPlan,
  checkpoint: Checkpoint | undefined,
) => Promise<{ readonly rows: number | undefined; readonly note?: string | undefined }>;

/** The input of planning. */
interface Planning {
  readonly settings: OfflineSettings;
  readonly options: PlanOptions;
  readonly known: Known;
  readonly clock: Clock;
  readonly sizeOf: SizeOf;
}

async function planStreams(planning: Planning): Promise<readonly PlannedStream[]> {
  const { settings, options, known } = planning;
  const planned: PlannedStream[] = [];
  const read = [...known.checkpoints.values()];
  const streams = selectStreams(settings, options.streams).flatMap(sliceStream);
  const refused = await findRefusedKeys(settings, streams);
  for (const stream of streams) {
    const checkpoint = known.checkpoints.get(nameOf(stream));
    const plan = await planOne({ ...planning, refused }, stream, checkpoint);
    planned.push(isFirstSlice(stream) && !isAnySliceRead(stream, read) ? addProof(plan, stream) : plan);
  }
  return planned;
}

/** The first slice that is read shows whether the API filters its answers: each parameter is tried with nonsense. */
function addProof(plan: PlannedStream, { slice }: Stream): PlannedStream {
  if (plan.requests === undefined || plan.requests === 0) return plan;
  return { ...plan, requests: plan.requests + Object.keys(slice?.values ?? {}).length };
}

function isFirstSlice({ slice, slices }: Stream): boolean {
  return slice !== undefined && slice === slices[0];
}

interface PlanFacts {
  readonly nowMs: number;
  readonly quota: QuotaSnapshot;
  readonly keyCheck: KeyCheck;
  readonly notes: readonly string[];
}

function summarize(
  settings: OfflineSettings,
  streams: readonly PlannedStream[],
  { nowMs, quota, keyCheck, notes }: PlanFacts,
): Omit<PlanReport, 'disk' | 'offline' | 'requestsSpent'> {
  const { windowMs } = settings.quotaLimits;
  const perWindow = requestsPerWindow(settings.quotaLimits, quota.limit);
  const perDay = requestsPerDay({ settings, source: { seenQuota: () => quota } });
  const requests = totalOf(streams, 'requests');
  const totals = {
    rows: totalOf(streams, 'rows'),
    pages: totalOf(streams, 'pages'),
    requests: requests === undefined ? undefined : requests + keyCheck.requests,
  };
  const estimate =
    totals.requests === undefined
      ? undefined
      : estimateDuration({ ...settings.quotaLimits, requests: totals.requests, quota, nowMs });
  return {
    streams: streams.map((stream) => noteLength(stream, perDay)),
    totals,
    ...(notes.length > 0 && { notes }),
    quota: { ...quota, requestsPerHour: perHour(perWindow, windowMs), windowSeconds: windowMs / 1_000 },
    windows: estimate?.windows,
    etaMs: estimate?.etaMs,
  };
}

async function planOne(
  { settings, options, clock, sizeOf, refused }: Planning & { readonly refused: RefusedKeys },
  stream: Stream,
  checkpoint: Checkpoint | undefined,
): Promise<PlannedStream> {
  const nowMs = clock.now();
  // Nothing is spent yet, and a full refresh that is due may take all that a sync may.
  const limits = { source: undefined, options, settings };
  const facts = { nowMs, readable: countReadable(limits) };
  const plan = planStream(stream, checkpoint, options, facts);
  if (plan.action === 'skip') {
    return { ...emptyPlan(stream), action: 'skip-fresh', rows: 0, pages: 0, requests: 0, note: plan.reason };
  }
  const { scan } = plan;
  const base: PlannedStream = { ...emptyPlan(stream), action: scan.mode, from: scan.from, note: scan.reason };
  const refusal = refused.get(nameOf(stream));
  if (refusal !== undefined) {
    const nothing = { rows: 0, pages: 0, requests: 0 };
    return { ...base, ...nothing, action: 'failed', error: toReportedError(refusal) };
  }
  try {
    const { rows, note } = await sizeOf(stream, scan, checkpoint);
    const planned = { ...base, ...(await countWork(limits, { stream, scan, rows }, nowMs)) };
    return note === undefined ? planned : addNote(planned, note);
  } catch (thrown) {
    const error = toSyncError(thrown);
    const failed: PlannedStream = { ...base, action: 'failed', error: toReportedError(error) };
    if (error.code !== 'stream_not_found') return failed;
    // The sync asks once, too.
    const nothing = { rows: 0, pages: 0, requests: 1 };
    if (!mayBeUnavailable(stream, checkpoint)) return { ...failed, ...nothing };
    return { ...base, ...nothing, action: 'unavailable', note: 'the API has no such endpoint (404)' };
  }
}

/** One endpoint with a 404 may not be part of the subscription; if all have one, a sync fails. */
function refuseNothing(
  { baseUrl }: OfflineSettings,
  streams: readonly PlannedStream[],
): readonly PlannedStream[] {
  if (streams.length === 0 || streams.some(({ action }) => action !== 'unavailable')) return streams;
  const error = toReportedError(buildNothingFoundError(baseUrl));
  const none = { rows: undefined, pages: undefined, requests: undefined, note: undefined };
  return streams.map((stream) => ({ ...stream, ...none, action: 'failed', error }));
}

/** A scan that takes too long may span a refresh: it can be loaded, but never verified. */
function noteLength(stream: PlannedStream, perDay: number): PlannedStream {
  const most = (perDay * ONE_VERSION_MS) / DAY_MS;
  if (stream.pages === undefined || stream.pages <= most) return stream;
  const hours = Math.ceil((stream.pages / perDay) * 24);
  const quota = hours > 24 ? `${Math.ceil(hours / 24)} days` : formatCountOf(hours, 'hour');
  const length = `${quota} of quota: too long to be verified as a whole, cut it into slices with sliceBy`;
  return addNote(stream, length);
}

function addNote(stream: PlannedStream, note: string): PlannedStream {
  return { ...stream, note: stream.note === undefined ? note : `${stream.note}; ${note}` };
}

function emptyPlan(stream: Stream): PlannedStream {
  return {
    stream: stream.name,
    slice: sliceIdOf(stream),
    action: 'full',
    from: undefined,
    rows: undefined,
    pages: undefined,
    requests: undefined,
    note: undefined,
    error: undefined,
  };
}
