import type { CursorCandidate } from '../model/discover-report.ts';
import { rankCursorCandidates } from '../schema/key-candidates.ts';
import { listCandidates } from './prove-keys.ts';
import { readField, type Sample } from './sample.ts';

/** Fields that rows may be dated by, best first, with what the sample shows of them. */
export function findCursors(sample: Sample): readonly (CursorCandidate & { readonly column: string })[] {
  return rankCursorCandidates(listCandidates(sample)).flatMap((name) => {
    const column = sample.columns.find((one) => one.name === name);
    if (column === undefined) return [];
    const texts = sample.rows.map((row) => String(readField(row, column.path)));
    const moments = texts.map(toMoment);
    const [first] = texts;
    if (first === undefined) return [];
    const at = (moment: number) => texts[moments.indexOf(moment)] ?? first;
    return [
      {
        column: name,
        field: column.field,
        type: column.type,
        oldest: at(moments.reduce((least, moment) => Math.min(least, moment), Infinity)),
        newest: at(moments.reduce((most, moment) => Math.max(most, moment), -Infinity)),
        order: describeOrder(moments),
      },
    ];
  });
}

/** An ISO date or timestamp as epoch ms, good enough to compare. */
export function toMoment(text: string): number {
  return Date.parse(text.replace(',', '.').replace(' ', 'T'));
}

function describeOrder(moments: readonly number[]): CursorCandidate['order'] {
  const pairs = moments.slice(1).map((moment, at) => moment - (moments[at] ?? 0));
  if (pairs.every((difference) => difference === 0)) return 'equal';
  if (pairs.every((difference) => difference >= 0)) return 'ascending';
  return pairs.every((difference) => difference <= 0) ? 'descending' : 'mixed';
}
