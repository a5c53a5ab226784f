import type { CheckItem } from '../../model/reports.ts';
import { REPUBLISH_FIX } from '../../publish/published-file.ts';
import type { HeldFacts, PublishedFacts, Publisher } from '../../publish/publisher.ts';
import { formatCountOf, verbOf } from '../../text/format-count.ts';

/** What the rows of a destination are compared with: the work file, or another destination. */
export interface Reference {
  /** `work file`. */
  readonly title: string;
  readonly place: string;
  readonly facts: HeldFacts;
}

/** The result of a comparison. */
export interface Comparison extends CheckItem {
  /** Rows or columns of the same commit differ. */
  readonly isDifferent: boolean;
}

/** Whether a destination holds the same commit as what it is compared with, and the same rows. */
export function compareFiles(
  { title, place }: Pick<Publisher, 'title' | 'place'>,
  { comparedAs, own, nameTable = (name) => name, ...published }: PublishedFacts,
  { facts: other, ...reference }: Reference,
): Comparison {
  if (other.generation !== published.generation) {
    const detail = `the ${title} does not hold the last commit`;
    return { name: title, status: 'failed', detail, fix: REPUBLISH_FIX, isDifferent: false };
  }
  const names = new Set([...other.tables.keys(), ...published.tables.keys()]);
  for (const name of own?.tables ?? []) names.delete(name);
  const different = [...names].filter((name) => {
    const [ours, theirs] = [other.tables.get(name), published.tables.get(name)];
    return ours?.columns !== theirs?.columns || ours?.rows !== theirs?.rows || ours?.sum !== theirs?.sum;
  });
  if (different.length === 0) {
    const rows = [...names].reduce((sum, name) => sum + (other.tables.get(name)?.rows ?? 0), 0);
    // An item named after the destination does not yet say what it is compared with.
    const as = comparedAs === title ? ` as the ${reference.title}` : '';
    const but = own === undefined ? '' : ` (${own.why})`;
    const held = `${formatCountOf(names.size, 'table')} and ${formatCountOf(rows, 'row')}`;
    const detail = `the same commit${as}, ${held}, equal by value${but}`;
    return { name: comparedAs, status: 'ok', detail, fix: undefined, isDifferent: false };
  }
  const detail = `${different.map(nameTable).join(', ')} ${verbOf(different.length, 'differs', 'differ')} from ${reference.place}: another program wrote into one of them`;
  const ofWork =
    reference.title === 'work file'
      ? ' If it was the work file, move that aside instead: the sync restores it from what is published.'
      : '';
  const fix = `If it was ${place}, move that aside and run sluice sync: it is published again.${ofWork}`;
  return { name: comparedAs, status: 'failed', detail, fix, isDifferent: true };
}
