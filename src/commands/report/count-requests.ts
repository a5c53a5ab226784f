import type { RequestFacts } from '../../model/report-data.ts';
import { HOUR_MS } from '../../model/dates.ts';
import type { RunReport } from '../../model/run-report.ts';
import type { Database } from '../../warehouse/database.ts';
import { toIso } from '../../model/sql.ts';

/** Hours that are shown: a week. */
const MOST_HOURS = 168;
/** Fewer show no pattern. */
const FEWEST_HOURS = 24;
const MOST_SPANS = 20_000;

/** Requests that were sent between two moments, epoch ms. */
export interface RequestSpan {
  readonly fromMs: number;
  readonly toMs: number;
  readonly requests: number;
}

/**
 * Requests of runs by the hour. Only the total of a stream is known: if it was read over several hours, its
 * requests are spread evenly over that time.
 */
export async function countRequests(
  database: Database | undefined,
  recent: readonly RunReport[],
  { nowMs, limit }: { readonly nowMs: number; readonly limit: number | undefined },
): Promise<RequestFacts> {
  const published = database === undefined ? [] : await readSpans(database, recent, nowMs);
  const spans = [...published, ...recent.flatMap(listSpans)];
  return { hours: spreadOverHours(spans, nowMs), limit };
}

async function readSpans(
  database: Database,
  recent: readonly RunReport[],
  nowMs: number,
): Promise<readonly RequestSpan[]> {
  const since = new Date(nowMs - (MOST_HOURS + 24) * HOUR_MS).toISOString();
  const rows = await database.all(
    `SELECT date_trunc('minute', started_at) AS f, date_trunc('minute', finished_at) AS t, sum(requests)::DOUBLE AS n
       FROM _sluice.stream_runs WHERE started_at >= $1::TIMESTAMPTZ AND NOT list_contains($2::JSON::VARCHAR[], run_id)
       GROUP BY ALL ORDER BY f DESC LIMIT ${MOST_SPANS}`,
    [since, JSON.stringify(recent.map(({ runId }) => runId))],
  );
  return rows.map((row) => ({
    fromMs: Date.parse(toIso(row['f'])),
    toMs: Date.parse(toIso(row['t'])),
    requests: Number(row['n']),
  }));
}

// A run may have sent more requests than its streams record, e.g. before it was refused.
function listSpans(run: RunReport): readonly RequestSpan[] {
  const spans = run.streams.map(({ startedAt, finishedAt, requests }) => ({
    fromMs: Date.parse(startedAt),
    toMs: Date.parse(finishedAt),
    requests,
  }));
  const told = spans.reduce((sum, { requests }) => sum + requests, 0);
  const startMs = Date.parse(run.startedAt);
  return [...spans, { fromMs: startMs, toMs: startMs, requests: Math.max(0, run.requests - told) }];
}

/** Sums spans by whole hours, from the first one (at most a week, at least a day ago) to the current one. */
export function spreadOverHours(spans: readonly RequestSpan[], nowMs: number): RequestFacts['hours'] {
  const lastHour = Math.floor(nowMs / HOUR_MS);
  const sums = new Map<number, number>();
  for (const { fromMs, toMs, requests } of spans) {
    if (requests <= 0 || Number.isNaN(fromMs)) continue;
    const endMs = toMs > fromMs ? toMs : fromMs + 1;
    const first = Math.max(Math.floor(fromMs / HOUR_MS), lastHour - MOST_HOURS);
    const last = Math.min(Math.floor((endMs - 1) / HOUR_MS), lastHour);
    for (let hour = first; hour <= last; hour += 1) {
      const shareMs = Math.min(endMs, (hour + 1) * HOUR_MS) - Math.max(fromMs, hour * HOUR_MS);
      if (shareMs > 0) sums.set(hour, (sums.get(hour) ?? 0) + (requests * shareMs) / (endMs - fromMs));
    }
  }
  const firstUsed = Math.min(lastHour, ...sums.keys());
  const first = Math.max(lastHour - MOST_HOURS + 1, Math.min(firstUsed, lastHour - FEWEST_HOURS + 1));
  return Array.from({ length: lastHour - first + 1 }, (_, at) => ({
    hour: new Date((first + at) * HOUR_MS).toISOString(),
    requests: Math.round(sums.get(first + at) ?? 0),
  }));
}
