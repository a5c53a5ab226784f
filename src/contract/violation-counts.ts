import { formatPath, type Violation, type ViolationKind } from './violation.ts';

/** One kind of violation at one field, and how often it came. */
export interface ViolationCount {
  /** Names joined by dots; empty for the record as a whole. */
  readonly field: string;
  readonly kind: ViolationKind;
  readonly reason: string;
  readonly count: number;
  /** Position in the scan of the first record that has it. */
  readonly firstPosition: number;
}

// A map whose member names are data brings new fields without end.
const MOST_FIELDS = 200;

/** Counts violations by field and reason. */
export class ViolationCounts {
  readonly #counts = new Map<string, { -readonly [K in keyof ViolationCount]: ViolationCount[K] }>();
  #records = 0;
  #hasMore = false;

  /** Records that had any. */
  get records(): number {
    return this.#records;
  }

  /** Whether there were more fields than are told apart. */
  get hasMore(): boolean {
    return this.#hasMore;
  }

  add(position: number, violations: readonly Violation[]): void {
    if (violations.length === 0) return;
    this.#records += 1;
    for (const violation of violations) this.#count(position, violation);
  }

  #count(position: number, { path, kind, reason }: Violation): void {
    const field = formatPath(collapse(path));
    const key = `${field}\u0000${reason}`;
    const known = this.#counts.get(key);
    if (known === undefined && this.#counts.size >= MOST_FIELDS) {
      this.#hasMore = true;
      return;
    }
    const { count = 0, firstPosition = position } = known ?? {};
    this.#counts.set(key, {
      field,
      kind,
      reason,
      count: count + 1,
      // Pages are staged as they come, which is not the order of their records.
      firstPosition: Math.min(firstPosition, position),
    });
  }

  /** What was counted, most frequent first. */
  list(): readonly ViolationCount[] {
    return [...this.#counts.values()].toSorted(
      (a, b) =>
        b.count - a.count ||
        a.firstPosition - b.firstPosition ||
        (a.field + a.reason < b.field + b.reason ? -1 : 1),
    );
  }
}

/** Every item of a list is the same field. */
function collapse(path: Violation['path']): Violation['path'] {
  return path.map((part) => (typeof part === 'number' ? '[]' : part));
}
