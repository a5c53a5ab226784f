// A scan of a million rows may have a problem on every page.
const MOST_TOLD = 5;

/** Findings of a scan about its source: signs that the data moved, contradictions, and harmless oddities. */
export class Findings {
  readonly #problems: string[] = [];
  readonly #notes: string[] = [];
  #count = 0;
  #moved = false;

  /** The first of the problems, of both kinds. */
  get problems(): readonly string[] {
    return this.#problems;
  }
  /** How many there were. */
  get problemCount(): number {
    return this.#count;
  }
  /** Whether the data moved while it was read; then a restart may help. */
  get moved(): boolean {
    return this.#moved;
  }
  get notes(): readonly string[] {
    return this.#notes;
  }

  addMove(problem: string): void {
    this.#moved = true;
    this.addContradiction(problem);
  }

  /** The source says two things that cannot both be true, though nothing shows that its data moved. */
  addContradiction(problem: string): void {
    this.#count += 1;
    if (this.#problems.length < MOST_TOLD) this.#problems.push(problem);
  }

  /** Each note once. */
  addNote(note: string): void {
    if (!this.#notes.includes(note)) this.#notes.push(note);
  }
}
