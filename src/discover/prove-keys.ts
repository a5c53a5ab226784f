import type { KeyCandidate } from '../model/discover-report.ts';
import { type CandidateColumn, proposeKeys } from '../schema/key-candidates.ts';
import { areDaysEnough, proposeSingleKeys, UUID_SHAPE } from '../schema/single-keys.ts';
import { codeValues, readField, type Sample } from './sample.ts';

const MOST_PROVED = 3;
const MOST_REFUTED = 3;

/**
 * Tries the sets of fields that a sync would try as a key, each without those that hold a smaller one that
 * does: the sets that repeat no value come first, then the likeliest that do repeat one.
 */
export function proveKeys(sample: Sample, cursor: string | undefined): readonly KeyCandidate[] {
  const { rows } = sample;
  // One row proves nothing: each of its fields is unique.
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
  for (const set of [...listSingleKeys(sample, cursor), ...proposeKeys(listCandidates(sample), cursor)]) {
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

/** Ids that a sync would try without their date, over rows of as many days. */
function listSingleKeys(sample: Sample, cursor: string | undefined): readonly (readonly string[])[] {
  const dated = sample.columns.find(({ name }) => name === cursor);
  if (dated === undefined || cursor === undefined) return [];
  const days = new Map<string, number>();
  for (const row of sample.rows) {
    const day = String(readField(row, dated.path)).slice(0, 10);
    days.set(day, (days.get(day) ?? 0) + 1);
  }
  if (!areDaysEnough([...days.values()])) return [];
  const isUuid = new RegExp(UUID_SHAPE);
  return (
    proposeSingleKeys(listCandidates(sample), cursor)
      .filter(({ name, isByShape }) => {
        const path = sample.columns.find((column) => column.name === name)?.path ?? [];
        return !isByShape || sample.rows.every((row) => isUuid.test(String(readField(row, path))));
      })
      .map(({ name }) => [name])
      // One that repeats is no more than a part of the others.
      .filter(
        (set) =>
          countDistinct(
            set.map((name) => codeColumn(sample, name)),
            sample.rows.length,
            true,
          ) === sample.rows.length,
      )
  );
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
