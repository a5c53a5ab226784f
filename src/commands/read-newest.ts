import { judgeNewest, type NewestData, RHYTHM_DATES } from '../model/data-age.ts';
import type { RunReport, Verdict } from '../model/run-report.ts';
import { type Checkpoint, nameScan } from '../model/stream.ts';
import type { Database } from '../warehouse/database.ts';
import { readNewestDates } from '../warehouse/newest-dates.ts';

/** The newest data of each stream and slice that has a watermark, by `nameScan`; what cannot be read is missing. */
export async function readNewest(
  database: Database,
  checkpoints: readonly Checkpoint[],
  runs: readonly RunReport[],
): Promise<ReadonlyMap<string, NewestData>> {
  const found = new Map<string, NewestData>();
  const looks = findLooks(runs);
  const streams = Map.groupBy(checkpoints, ({ stream }) => stream);
  for (const [stream, scans] of streams) {
    const columns = new Set(scans.flatMap(({ cursorField }) => cursorField ?? []));
    const upTo = scans
      .flatMap(({ watermark }) => watermark ?? [])
      .toSorted()
      .at(-1);
    if (upTo === undefined) continue;
    for (const column of columns) {
      const options = { column, upTo, most: RHYTHM_DATES };
      const newest = await readNewestDates(database, stream, options).catch(() => undefined);
      for (const { slice, cursorField, watermark, lastVerifiedAt } of scans) {
        const held = cursorField === column && watermark !== undefined ? newest?.get(slice) : undefined;
        const name = nameScan(stream, slice);
        const look = looks.get(name);
        // A time recorded by a clock that was ahead is missing: it was removed from the checkpoint.
        const isVoid = look?.verdict === 'verified' && lastVerifiedAt === undefined;
        const lookedAt = isVoid ? undefined : (look?.startedAt ?? lastVerifiedAt);
        const judged = held && judgeNewest(held.dates, held.since, lookedAt);
        if (judged !== undefined) found.set(name, judged);
      }
    }
  }
  return found;
}

interface Look {
  readonly startedAt: string;
  readonly verdict: Verdict;
}

/** The last scan of each stream and slice that read to its end, by `nameScan`. */
function findLooks(runs: readonly RunReport[]): ReadonlyMap<string, Look> {
  const looks = new Map<string, Look>();
  for (const { stream, slice, mode, verdict, startedAt } of runs.flatMap(({ streams }) => streams)) {
    const name = nameScan(stream, slice);
    const isRead = verdict === 'verified' || verdict === 'unverified';
    // Newest first.
    if (isRead && (mode === 'full' || mode === 'incremental') && !looks.has(name))
      looks.set(name, { startedAt, verdict });
  }
  return looks;
}
