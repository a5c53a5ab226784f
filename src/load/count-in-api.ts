import { toSyncError } from '../model/errors.ts';
import { sliceIdOf, type Stream } from '../model/stream.ts';
import { countMissingRows } from '../warehouse/missing-rows.ts';
import { windowOf } from './asked-days.ts';
import { countRequests } from '../plan/estimate.ts';
import type { RunContext } from '../run/run-context.ts';
import type { ApiCount, FetchedScan, PreparedLoad } from '../run/scan.ts';
import { requestPage } from '../read/request-page.ts';
import { countRequestsNow } from '../read/requests-left.ts';

/** Requests of the window that a count leaves for scans. */
const LEFT_FOR_SCANS = 3;
/** Share of the remaining window that an unrequested full scan may use. */
const MOST_SHARE = 1 / 2;

const NOT_COUNTED: ApiCount = { rows: null, canReadInFull: false };

/**
 * Asks the API for its total row count at the end of an incremental scan, which itself only covers its own days.
 * Takes one request, skipped if the quota is nearly spent, unless fewer rows would replace rows without a key: then
 * the stream fails if the count fails.
 */
export async function countInApi(
  context: RunContext,
  stream: Stream,
  scan: FetchedScan,
  load: PreparedLoad,
): Promise<FetchedScan> {
  const { settings, options } = context;
  const isTrusted = scan.verdict === 'verified' || scan.verdict === 'unverified';
  if (scan.plan.mode === 'full' || !isTrusted || options.limit !== undefined) return scan;
  const isNeeded = await replacesByFewer(context, stream, scan, load);
  // With --from, earlier rows are left out on purpose.
  const isAudited = stream.audit && options.from === undefined;
  await context.source.readQuota();
  const canAfford = countRequestsNow(context) > LEFT_FOR_SCANS * settings.streams.length;
  if (!stream.paginated || scan.total === undefined || !(isNeeded || (isAudited && canAfford)))
    return { ...scan, counted: NOT_COUNTED };
  const ask = (count: () => Promise<ApiCount>) => (isNeeded ? count() : orNotCounted(context, stream, count));
  const counted = await ask(async () => {
    const rows = await readTotal(context, stream, undefined);
    const first = toCount(context, stream, rows);
    const again = async (since: readonly string[] = []) => {
      const second = await ask(() => countAgain(context, stream, scan, since));
      // A failed second count does not cancel the first.
      return second.rows === null ? { ...first, canReadInFull: false } : second;
    };
    return { ...first, again };
  });
  return { ...scan, counted };
}

/** Whether some day has more rows without a key than were returned: they are deleted if the count confirms it. */
async function replacesByFewer(
  { database }: RunContext,
  stream: Stream,
  scan: FetchedScan,
  load: PreparedLoad,
): Promise<boolean> {
  const window = windowOf(scan, load);
  if (load.key !== undefined || !load.tableExisted || window === undefined) return false;
  return (await countMissingRows(database, stream.table, sliceIdOf(stream), window)).missing > 0;
}

/** Requests both counts again: rows added since the scan ended are in both of them. */
async function countAgain(
  context: RunContext,
  stream: Stream,
  scan: FetchedScan,
  since: readonly string[],
): Promise<ApiCount> {
  const rows = await readTotal(context, stream, undefined);
  const asked = await readTotal(context, stream, scan.plan.from);
  if (rows === undefined || asked === undefined || scan.total === undefined) return NOT_COUNTED;
  const came = asked - scan.total;
  const count = toCount(context, stream, rows - came);
  const later: { readonly date: string; readonly rows: number }[] = [];
  for (const date of since) {
    const total = await readTotal(context, stream, date);
    if (total === undefined) return count;
    later.push({ date, rows: total - came });
  }
  return later.length === 0 ? count : { ...count, since: later };
}

function toCount(context: RunContext, stream: Stream, rows: number | undefined): ApiCount {
  if (rows === undefined) return NOT_COUNTED;
  const { requests } = countRequests(rows, stream.pageSize);
  return { rows, canReadInFull: requests <= countRequestsNow(context) * MOST_SHARE };
}

/** An optional count must not fail the stream. */
async function orNotCounted(
  { signal, emit }: RunContext,
  stream: Stream,
  count: () => Promise<ApiCount>,
): Promise<ApiCount> {
  try {
    return await count();
  } catch (thrown) {
    if (signal?.aborted === true) throw thrown;
    const message = `could not count its rows in the API: ${toSyncError(thrown).message}`;
    emit({ type: 'note', stream: stream.name, message });
    return NOT_COUNTED;
  }
}

async function readTotal(
  context: RunContext,
  stream: Stream,
  from: string | undefined,
): Promise<number | undefined> {
  return (await requestPage(context, stream, { from, offset: 0 })).total;
}
