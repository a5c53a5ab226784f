import { BugError, ResponseError, StreamConfigError } from '../model/errors.ts';
import type { Checkpoint, Stream } from '../model/stream.ts';
import type { RunContext } from './run-context.ts';
import type { FetchedScan } from './scan.ts';

/** Part of the rows of a stream without a key can neither replace a table nor be merged into one. */
export function refusePartOfKeyless(
  stream: Stream,
  scan: FetchedScan,
  checkpoint: Checkpoint | undefined,
): void {
  if (scan.verdict === 'drifted') throw describeDrift(stream, scan, false);
  // A table that only ever held a part is no loss.
  if (scan.verdict !== 'partial' || checkpoint?.lastFullScanAt === undefined) return;
  throw new StreamConfigError(
    `${stream.name}: --limit reads a part of its rows, and without a key they cannot be merged`,
    {
      code: 'usage_invalid',
      hint: `The table is as it was. Run without --limit, or name a key as streams.${stream.name}.key.`,
      context: { stream: stream.name },
    },
  );
}

/** Invariant 7: only a user's limit may end a scan early and still count as an answer. */
export function refuseUnfinished({ options }: RunContext, stream: Stream, scan: FetchedScan): void {
  if (scan.verdict !== 'partial' || scan.rows >= (options.limit ?? Infinity)) return;
  throw new BugError(
    `${stream.name}: the scan ended with ${scan.rows} of ${scan.total ?? 'unknown'} records`,
    {
      code: 'bug',
      hint: 'The table is as it was. This is a defect of Sluice; please report it with the text above.',
      context: { stream: stream.name },
    },
  );
}

/** What a scan ends with that moved under every attempt. */
export function describeDrift(stream: Stream, scan: FetchedScan, merged: boolean): ResponseError {
  const kept = merged
    ? 'The rows that came were merged by key, nothing was deleted and no watermark moved.'
    : 'The table is as it was.';
  return new ResponseError(
    `${stream.name}: the data moved while it was read, three times over: ${scan.reasons[0] ?? ''}`,
    {
      code: 'source_drifted',
      hint: `${kept} Run again when the source is not being refreshed.`,
      context: { stream: stream.name },
    },
  );
}
