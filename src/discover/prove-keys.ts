import type { KeyCandidate } from '../model/discover-report.ts';
import { type CandidateColumn, proposeKeys } from '../schema/key-candidates.ts';
import { codeValues, type Sample } from './sample.ts';

const MOST_PROVED = 3;
const MOST_REFUTED = 3;

/**
 * Tries the sets of fields that a sync would try as a key, each without those that hold a smaller one that
 * does: the sets that repeat no value come first, then the likeliest that do repeat one.
 */
export function proveKeys(sample: Sample, cursor: string | undefined): readonly KeyCandidate[] {
  const { rows } = sample;
  // One row proves nothing: every field of it is unique.
  if (rows.length < 2) return [];
  const fields = new Map(sample.columns.map(({ name, field }) => [name, field]));
  const codes = new Map<string, readonly number[]>();
  const codesOf = (name: string) => {
    const known = codes.get(name) ?? codeColumn(sample, name);
    codes.set(name, known);
    return known;
  };
  const proved: KeyCandidate[] = [];
  const provedSets: (readonly string[])[] = [];
  const refuted: KeyCandidate[] = [];
  for (const set of proposeKeys(listCandidates(sample), cursor)) {
    if (proved.length >= MOST_PROVED) break;
    if (provedSets.some((smaller) => smaller.every((name) => set.includes(name)))) continue;
    const wanted = refuted.length < MOST_REFUTED;
    const distinct = countDistinct(set.map(codesOf), rows.length, wanted);
    const holds = distinct === rows.length;
    const candidate = {
      fields: set.map((name) => fields.get(name) ?? name),
      distinct,
      rows: rows.length,
      holds,
    };
    if (holds) {
      proved.push(candidate);
      provedSets.push(set);
    } else if (wanted) {
      refuted.push(candidate);
    }
  }
  return [...proved, ...refuted];
}

/** The sample's columns as the search for keys and cursors sees them. */
export function listCandidates({ columns, rows }: Sample): readonly CandidateColumn[] {
  return columns
    .filter(({ type }) => type !== 'NULL')
    .map(({ name, type, node }) => ({
      name,
      type,
      alwaysFilled: node.filled === rows.length,
      longestText: node.longestText,
    }));
}

function codeColumn({ rows, columns }: Sample, name: string): readonly number[] {
  return codeValues(rows, columns.find((column) => column.name === name)?.path ?? []);
}

/** Different rows among the columns; not to the end once one repeats, unless `exactly`. */
function countDistinct(columns: readonly (readonly number[])[], rows: number, exactly: boolean): number {
  const seen = new Set<string>();
  for (let row = 0; row < rows; row += 1) {
    const before = seen.size;
    seen.add(columns.map((codes) => codes[row]).join(' '));
    if (!exactly && seen.size === before) break;
  }
  return seen.size;
}
