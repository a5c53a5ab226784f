import { formatCount, formatCountOf, verbOf } from '../text/format-count.ts';
import { formatMoment } from '../text/format-moment.ts';
import type { CountedRows } from './stream.ts';

/** A difference in words, for the notes and as the reason for the next full refresh. */
export function describeDifference({ inApi = 0, inTable, difference, kept, suspected }: CountedRows): string {
  const gone = kept + suspected;
  const left = gone === 0 ? '' : `, ${formatCount(gone)} of which the API no longer has`;
  const api = `the API counts ${formatCountOf(inApi, 'row')}, the table has ${formatCountOf(inTable, 'row')}${left}`;
  const rows = formatCountOf(Math.abs(difference), 'row');
  return difference > 0
    ? `${api}: ${rows} ${verbOf(difference, 'is', 'are')} missing`
    : `${api}: ${rows} ${verbOf(-difference, 'is', 'are')} no longer there`;
}

/** When a stream is read in full again that was read in full for such a reason shortly before. */
export function describeDeferral(stream: string, fromMs: number): string {
  return `it was read in full shortly before, so a sync does that again from ${formatMoment(fromMs)} on; sluice sync --full-refresh --streams ${stream} does it at once`;
}

/** What to do about a difference that no sync repairs by itself because too many rows would be deleted. */
export function adviseTooManyGone(stream: string): string {
  return `that is more than maxDeleteRatio allows to delete, so they are kept; if they really left the source, raise streams.${stream}.maxDeleteRatio and run sluice sync --full-refresh`;
}
