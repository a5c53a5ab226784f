import { BugError, KeyMisfitError, ResponseError, StreamConfigError } from '../model/errors.ts';
import { formatCount, formatCountOf, verbOf } from '../text/format-count.ts';
import { type Checkpoint, nameOf, type Stream } from '../model/stream.ts';
import { adviseExclude } from '../read/differing-fields.ts';
import type { Loading } from '../run/run-context.ts';
import type { DriftCause, FetchedScan } from '../run/scan.ts';

/** Part of the rows of a stream without a key can neither replace a table nor be merged into one. */
export function refusePartOfKeyless(
  stream: Stream,
  scan: FetchedScan,
  checkpoint: Checkpoint | undefined,
): void {
  // A scan that is never restarted could otherwise never load anything.
  if (scan.verdict === 'drifted' && scan.cause !== 'too-long') throw describeDrift(stream, scan, false);
  // A table that only ever held a part loses nothing.
  if (scan.verdict !== 'partial' || checkpoint?.lastFullScanAt === undefined) return;
  throw new StreamConfigError(
    `${stream.name}: --limit reads a part of its rows, and without a key they cannot be merged`,
    {
      code: 'usage_invalid',
      hint: `The table is unchanged. Run without --limit, or name a key as streams.${stream.name}.key.`,
      context: { stream: stream.name },
    },
  );
}

/** Invariant 7: only a user's limit may end a scan early and still count as an answer. */
export function refuseUnfinished({ options }: Loading, stream: Stream, scan: FetchedScan): void {
  if (scan.verdict !== 'partial' || scan.rows >= (options.limit ?? Infinity)) return;
  throw new BugError(
    `${stream.name}: the scan ended with ${scan.rows} of ${scan.total ?? 'unknown'} records`,
    {
      code: 'bug',
      hint: 'The table is unchanged. This is a defect of Sluice; please report it with the text above.',
      context: { stream: stream.name },
    },
  );
}

/** A configured key that most of the rows share would leave one row of many. */
export function describeWrongKey(
  stream: Stream,
  rows: number,
  repeats: number,
  fitting: readonly string[] | undefined,
): KeyMisfitError {
  const key = stream.key.kind === 'fields' ? stream.key.fields.join(', ') : '';
  const better =
    fitting === undefined ? 'auto' : `[${fitting.join(', ')}], which tells all of them apart, or auto`;
  return new KeyMisfitError(
    `${nameOf(stream)}: ${formatCount(repeats)} of ${formatCountOf(rows, 'row')} ${verbOf(repeats, 'has', 'have')} the key (${key}) of another row`,
    {
      code: 'config_invalid',
      hint: `The table is unchanged. Set streams.${stream.name}.key to ${better}.`,
      context: { stream: stream.name },
    },
  );
}

/** For a configured key that many rows share, though fewer than would refute it. */
export function describeFittingKey(stream: Stream, fitting: readonly string[]): string {
  const key = fitting.join(', ');
  return `(${key}) tells all rows apart: if it is their key, set streams.${stream.name}.key to [${key}]`;
}

/** A key that rows repeat which a stream with `write: append` keeps. */
export function describeRepeatedKey(stream: Stream, key: readonly string[]): KeyMisfitError {
  return new KeyMisfitError(
    `${nameOf(stream)}: rows of the table repeat the key (${key.join(', ')}), or have no value for it, and write: append keeps all of them`,
    {
      code: 'config_invalid',
      hint: `The table is unchanged. Run \`sluice rebuild ${stream.name}\`, which keeps the first row of each key; or set streams.${stream.name}.key to another one, or write to merge.`,
      context: { stream: stream.name },
    },
  );
}

/** What a `drifted` scan ends with. */
export function describeDrift(stream: Stream, scan: FetchedScan, merged: boolean): ResponseError {
  const { cause = 'moved', reasons, differing = [] } = scan;
  const advice = cause === 'moved' ? adviseExclude(stream, differing) : undefined;
  const where = advice === undefined ? '' : ` (${differing.join(', ')})`;
  const kept = merged
    ? 'The returned rows were loaded and nothing was deleted.'
    : `The table is unchanged: without a key (streams.${stream.name}.key) its rows cannot be merged.`;
  return new ResponseError(`${nameOf(stream)}: ${DRIFTS[cause](scan)}: ${reasons[0] ?? ''}${where}`, {
    code: 'source_drifted',
    hint: `${kept} ${advice ?? ADVICE[cause]}`,
    context: { stream: stream.name },
  });
}

const DRIFTS: Readonly<Record<DriftCause, (scan: FetchedScan) => string>> = {
  moved: ({ rescans }) => `the data moved while it was read${TIMES[rescans] ?? ''}`,
  contradiction: () => 'the API contradicts itself while its data is unchanged',
  'too-long': ({ pages }) =>
    `its ${formatCountOf(pages, 'page')} ${verbOf(pages, 'takes', 'take')} longer than a day, and the data moved meanwhile`,
};

const TIMES: readonly string[] = ['', ', twice over', ', three times over'];

const ADVICE: Readonly<Record<DriftCause, string>> = {
  moved: 'No watermark moved. Run again when the source is not being refreshed.',
  contradiction:
    'No watermark moved. A retry cannot help: report the wrong records or counts to the provider of the API.',
  'too-long':
    'The next sync continues from the day this scan started. Cut the stream into slices (sliceBy) that fit into the quota of one day.',
};
