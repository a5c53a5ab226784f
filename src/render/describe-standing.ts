import { adviseTooManyGone, describeDeferral, describeDifference } from '../model/describe-difference.ts';
import type { StreamStatusRow } from '../model/reports.ts';
import { nameScan } from '../model/stream.ts';
import { formatCountOf, verbOf } from '../text/format-count.ts';
import { formatMoment } from '../text/format-moment.ts';
import { toSafeLine } from './safe-text.ts';

type Streams = readonly StreamStatusRow[];

/** How many names a list has before the rest is a number. */
export const MOST_NAMES = 3;

/** What publishes rows that are committed: the run that is under way, the next sync, or none while syncs are refused. */
export type Publishing = 'under way' | 'next' | 'refused';

export const PUBLISHER: Readonly<Record<Publishing, string>> = {
  'under way': 'the current run',
  next: 'the next sync',
  refused: 'the next sync that is not refused',
};

/** What `status` says of streams below their table: a block for each thing to know, empty where there is none. */
export function describeStanding(streams: Streams, publishing: Publishing): readonly string[] {
  return [
    describeUnpublished(streams, publishing),
    describeReset(streams),
    describeUnfinished(streams),
    describeDoubts(streams),
    describeUnavailable(streams),
    describeDue(streams),
    describeUncounted(streams),
    describeUnproved(streams),
    describeStale(streams),
    describeScope(streams),
  ];
}

/** Names for a sentence: the first ones, and how many more there are. */
function listSome(rows: Streams): string {
  const names = rows.slice(0, MOST_NAMES).map(({ stream, slice }) => toSafeLine(nameScan(stream, slice)));
  const more = rows.length - names.length;
  return `${names.join(', ')}${more > 0 ? ` and ${formatCountOf(more, 'more stream')}` : ''}`;
}

/** As after a signal: what readers have is older than what was committed. */
function describeUnpublished(streams: Streams, publishing: Publishing): string {
  const rows = streams.filter(({ isUnpublished }) => isUnpublished);
  if (rows.length === 0) return '';
  const [verb, object] = rows.length === 1 ? ['is', 'it'] : ['are', 'them'];
  const when = publishing === 'under way' ? ' when it waits for the quota, or ends' : '';
  return `${listSome(rows)} ${verb} committed, but not published yet: ${PUBLISHER[publishing]} publishes ${object}${when}.`;
}

function describeReset(streams: Streams): string {
  const rows = streams.filter(({ isReset }) => isReset);
  if (rows.length === 0) return '';
  return `The state of ${listSome(rows)} ${rows.length === 1 ? 'was' : 'were'} reset: the rows are still there, and the next sync reads everything.`;
}

/** Streams whose last scan proves nothing, and that no error explains. */
function describeUnfinished(streams: Streams): string {
  const tell = (verdict: StreamStatusRow['verdict'], what: string, next: string) => {
    const rows = streams.filter((row) => row.verdict === verdict && row.unsettled === undefined);
    return rows.length === 0 ? '' : `${what}: ${listSome(rows)}. ${next}`;
  };
  return [
    tell('partial', 'Not read to the end, as with --limit', 'The next sync reads on.'),
    tell('drifted', 'The data moved while it was read', 'Rows may be missing until the next sync.'),
  ]
    .filter((text) => text !== '')
    .join('\n');
}

/** What keeps the last scan of a stream from being verified. */
function describeDoubts(streams: Streams): string {
  const rows = streams.filter(({ doubt }) => doubt !== undefined);
  const more = rows.length - MOST_NAMES;
  return [
    ...rows
      .slice(0, MOST_NAMES)
      .map(({ stream, slice, doubt = '' }) =>
        toSafeLine(`${nameScan(stream, slice)} is not verified: ${doubt}.`),
      ),
    ...(more > 0 ? [`Nor are ${formatCountOf(more, 'more stream')}; sluice report has the reasons.`] : []),
  ].join('\n');
}

function describeUnavailable(streams: Streams): string {
  const rows = streams.filter(({ isUnavailable }) => isUnavailable);
  return rows.length === 0 ? '' : `Not offered by the API (404): ${listSome(rows)}.`;
}

/** Whether the table is known to differ from the API. */
export function isDue({ fullRefreshDue, counts }: StreamStatusRow): boolean {
  return fullRefreshDue !== undefined || (counts?.difference ?? 0) !== 0;
}

/** Why streams need a full refresh, and what to do. */
function describeDue(streams: Streams): string {
  const due = streams.filter(isDue);
  const lines = due.slice(0, MOST_NAMES).map((row) => {
    const { stream, slice, fullRefreshDue, fullRefreshFrom, counts } = row;
    const why =
      fullRefreshDue ?? (counts && `${describeDifference(counts)}; ${adviseTooManyGone(stream)}`) ?? '';
    const when =
      fullRefreshFrom === undefined ? '' : `; ${describeDeferral(stream, Date.parse(fullRefreshFrom))}`;
    return `${toSafeLine(nameScan(stream, slice))}: ${toSafeLine(why + when)}`;
  });
  if (lines.length === 0) return '';
  const more = due.length - MOST_NAMES;
  return [
    ...lines,
    ...(more > 0 ? [`${formatCountOf(more, 'more stream')} ${verbOf(more, 'differs', 'differ')}.`] : []),
    ...(due.some((row) => row.fullRefreshDue !== undefined && row.fullRefreshFrom === undefined)
      ? ['  next: sluice sync reads such a stream in full as soon as the quota allows it']
      : []),
  ].join('\n');
}

/** Streams whose last sync was not compared with the API as a whole: what is known of that is older. */
function describeUncounted(streams: Streams): string {
  const uncounted = streams.filter(({ counts }) => counts?.uncountedAt !== undefined);
  if (uncounted.length === 0) return '';
  const names = uncounted.slice(0, MOST_NAMES).map(({ stream, slice, counts }) => {
    const at = counts === undefined ? '' : ` (last counted ${formatMoment(counts.at)})`;
    return `${toSafeLine(nameScan(stream, slice))}${at}`;
  });
  const more = uncounted.length - names.length;
  const others = more > 0 ? ` and ${formatCountOf(more, 'more stream')}` : '';
  return `The last sync read the newest rows of ${names.join(', ')}${others} and did not compare the table as a whole with the total of the API. The next full scan does; streams with pages are also counted by a sync with requests to spare.`;
}

/** Streams whose rows the current key has not shown yet. */
function describeUnproved(streams: Streams): string {
  const names = new Set(streams.filter(({ isUnproved }) => isUnproved).map(({ stream }) => stream));
  if (names.size === 0) return '';
  const list = [...names].map(toSafeLine).join(', ');
  return `The current key has not shown the rows of ${list} yet. Before rows are added, the next sync checks that it reads the same data.`;
}

/** Streams with no newer data: their syncs succeed, but the source delivers nothing. */
function describeStale(streams: Streams): string {
  const stale = streams.filter(({ newest }) => newest?.stale === true);
  const lines = stale.slice(0, MOST_NAMES).map(({ stream, slice, newest }) => {
    const name = toSafeLine(nameScan(stream, slice));
    const since = newest === undefined ? '' : formatMoment(newest.since);
    return `${name} is stale: nothing newer than ${newest?.date ?? ''} has arrived since ${since}, although it was synced`;
  });
  if (lines.length === 0) return '';
  const more = stale.length - MOST_NAMES;
  return [
    ...lines,
    ...(more > 0 ? [`${formatCountOf(more, 'more stream')} ${more === 1 ? 'is' : 'are'} stale.`] : []),
    '  next: ask the provider whether the source was refreshed; no sync can read data that is not there yet',
  ].join('\n');
}

/** Streams of which only the newest days are verified. */
function describeScope(streams: Streams): string {
  const partial = streams.filter(
    ({ verdict, wholeAt, provedFrom }) =>
      verdict === 'verified' && wholeAt === undefined && provedFrom !== undefined,
  );
  const lines = partial.slice(0, MOST_NAMES).map(({ stream, slice, provedFrom = '' }) => {
    const name = toSafeLine(nameScan(stream, slice));
    return `${name} is verified from ${provedFrom} on only: no full scan of it was verified`;
  });
  if (lines.length === 0) return '';
  const more = partial.length - MOST_NAMES;
  return [
    ...lines,
    ...(more > 0 ? [`The same is true of ${formatCountOf(more, 'more stream')}.`] : []),
    '  next: sluice sync --full-refresh reads everything again; its verdict says what keeps it from being verified',
  ].join('\n');
}
