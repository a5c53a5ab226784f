/** What a proof shows, line by line. */
export class Verdicts {
  readonly #say: (text: string) => void;
  readonly #part: string;
  #failed = 0;
  #held = 0;

  constructor(part: string, say: (text: string) => void) {
    this.#part = part;
    this.#say = say;
  }

  get failed(): number {
    return this.#failed;
  }

  get held(): number {
    return this.#held;
  }

  /** Records whether a claim holds, and what was seen. */
  check(claim: string, isTrue: boolean, seen = ''): void {
    if (isTrue) this.#held += 1;
    else this.#failed += 1;
    this.#say(`${isTrue ? 'holds ' : 'FAILED'} ${this.#part}: ${claim}${seen === '' ? '' : ` (${seen})`}`);
  }
}
