import { subtractDays, toDate } from '../model/dates.ts';
import type { SyncOptions } from '../model/settings.ts';
import { type Checkpoint, sliceIdOf, type Stream } from '../model/stream.ts';
import type { FetchedScan, PreparedLoad } from '../run/scan.ts';
import { cameEarlier, firstWholeDay } from './asked-days.ts';

export interface CheckpointFacts {
  readonly stream: Stream;
  readonly scan: FetchedScan;
  readonly load: PreparedLoad;
  readonly checkpoint: Checkpoint | undefined;
  readonly runId: string;
  readonly options: SyncOptions;
}

/**
 * The checkpoint after a committed scan. Only `verified` and `unverified` scans move the watermark, and scans with
 * `--from` or `--limit` never move it further than a normal run would.
 */
export function nextCheckpoint(facts: CheckpointFacts): Checkpoint {
  const { stream, scan, load, checkpoint, runId, options } = facts;
  const startedAt = new Date(scan.startedAtMs).toISOString();
  const trusted =
    (scan.verdict === 'verified' || scan.verdict === 'unverified') && options.limit === undefined;
  const whole = trusted && scan.plan.mode === 'full';
  // What --from asks for shows nothing of the rest.
  const normal = trusted && (whole || options.from === undefined);
  // For a scan that took days, the next one continues from its start; otherwise every scan would be a full one.
  const ended = scan.cause === 'too-long' && options.from === undefined && options.limit === undefined;
  const passed = whole || (ended && scan.plan.mode === 'full');
  return {
    stream: stream.name,
    slice: sliceIdOf(stream),
    fingerprint: passed || checkpoint === undefined ? stream.fingerprint : checkpoint.fingerprint,
    cursorField: load.cursorColumn ?? checkpoint?.cursorField,
    cursorState: nextCursorState(facts),
    watermark:
      ended || (normal && scan.isApart === true)
        ? watermarkOfLongScan(facts)
        : normal
          ? nextWatermark(facts)
          : checkpoint?.watermark,
    keyFields: load.key?.columns ?? (whole ? undefined : checkpoint?.keyFields),
    keyOrigin: load.key?.origin ?? (whole ? undefined : checkpoint?.keyOrigin),
    keyProvedOn: nextProofDays(facts, trusted),
    lastFullScanAt: passed ? startedAt : checkpoint?.lastFullScanAt,
    lastVerifiedAt: scan.verdict === 'verified' && normal ? startedAt : checkpoint?.lastVerifiedAt,
    lastVerdict: trusted && !normal ? nextVerdictOfPart(facts) : scan.verdict,
    rowsDeclared: passed ? (scan.total ?? scan.rows) : checkpoint?.rowsDeclared,
    // The table has other rows now than the scan of an older head left.
    head: scan.verdict === 'verified' && normal ? scan.head : undefined,
    rules:
      normal || (trusted && checkpoint === undefined)
        ? (stream.rules ?? checkpoint?.rules)
        : checkpoint?.rules,
    ...nextProof(facts),
    runId,
  };
}

/** The verdict on a stream after a part of it was read: what an earlier scan left unfinished still is. */
function nextVerdictOfPart({ scan, checkpoint }: CheckpointFacts): string {
  if (checkpoint === undefined || checkpoint.lastVerdict === 'verified') return scan.verdict;
  return checkpoint.lastVerdict ?? 'unverified';
}

/** When the table was verified, and from which day on. */
function nextProof({
  scan,
  load,
  checkpoint,
  options,
}: CheckpointFacts): Pick<Checkpoint, 'wholeAt' | 'provedFrom'> {
  const { wholeAt, provedFrom } = checkpoint ?? {};
  if (scan.verdict !== 'verified' || options.limit !== undefined) return { wholeAt, provedFrom };
  if (scan.plan.mode === 'full')
    return { wholeAt: new Date(scan.startedAtMs).toISOString(), provedFrom: undefined };
  const { from } = scan.plan;
  if (from === undefined) return { wholeAt, provedFrom };
  // Its first days may be incomplete, and are not loaded where whole days are replaced.
  return { wholeAt, provedFrom: firstWholeDay(from, load) };
}

function nextWatermark({ scan, load, checkpoint }: CheckpointFacts): string | undefined {
  const newest = load.newestCursor;
  if (newest === undefined) return checkpoint?.watermark;
  // Neither rows with future dates nor a clock that is ahead may make the next run skip the days in between.
  const today = toDate(Math.min(scan.serverDateMs, scan.startedAtMs));
  const reached = newest < today ? newest : today;
  if (scan.plan.mode === 'full' || checkpoint?.watermark === undefined) return reached;
  return checkpoint.watermark > reached && checkpoint.watermark <= today ? checkpoint.watermark : reached;
}

// Rows dated after its start, less the lookback, may have changed while it was read over hours or days.
function watermarkOfLongScan({ stream, scan, load, checkpoint }: CheckpointFacts): string | undefined {
  const newest = load.newestCursor;
  if (newest === undefined) return checkpoint?.watermark;
  const before = subtractDays(toDate(scan.startedAtMs), stream.lookbackMs);
  const reached = newest < before ? newest : before;
  const held = checkpoint?.watermark;
  return held !== undefined && held > reached && held <= toDate(scan.startedAtMs) ? held : reached;
}

/** An `auto` cursor is proved by a response to its parameter with only later rows, and fewer of them. */
function nextCursorState({ stream, scan, load, checkpoint }: CheckpointFacts): Checkpoint['cursorState'] {
  if (stream.cursor.kind !== 'auto') return undefined;
  // A refuted cursor says nothing about the next candidate.
  const isOther = load.cursorColumn !== undefined && load.cursorColumn !== checkpoint?.cursorField;
  const cursorState = isOther && checkpoint?.cursorState === 'refuted' ? undefined : checkpoint?.cursorState;
  if (!scan.plan.trial || scan.plan.from === undefined) {
    return cursorState ?? (load.cursorColumn === undefined ? undefined : 'candidate');
  }
  if (load.oldestCursor === undefined) return cursorState ?? 'candidate';
  if (cameEarlier(scan, load)) return 'refuted';
  const fewer = checkpoint?.rowsDeclared !== undefined && (scan.total ?? scan.rows) < checkpoint.rowsDeclared;
  return fewer ? 'proved' : (cursorState ?? 'candidate');
}

function nextProofDays({ scan, load, checkpoint }: CheckpointFacts, trusted: boolean): readonly string[] {
  if (load.key?.origin !== 'learned') return [];
  const same = checkpoint?.keyFields?.join() === load.key.columns.join();
  const before = same ? checkpoint.keyProvedOn : [];
  // With one row every key is unique; and a scan of moving data proves nothing.
  if (!trusted || scan.isApart === true || scan.rows - load.rejected.count < 2) return before;
  const today = toDate(scan.serverDateMs);
  return before.includes(today) ? before : [...before, today].slice(-2);
}
