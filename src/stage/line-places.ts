import type { StagedPageEntry } from './stage-store.ts';

/** The end of a line of a stage's records. */
export interface LinePlace {
  /** A byte at which a line ends, or 0. */
  readonly byte: number;
  /** Lines after it. */
  readonly lines: number;
}

type Page = Pick<StagedPageEntry, 'rows' | 'endByte'>;

/** Finds every nth line of a stage while its pages come. */
export class LinePlaces {
  readonly #every: number;
  /** Pages after the last place that was taken. */
  #pages: Page[] = [];
  /** The last place that was taken. */
  #last: LinePlace = { byte: 0, lines: 0 };
  #rows = 0;

  /** @param every lines from one place to the next */
  constructor(every: number) {
    this.#every = every;
  }

  add(pages: readonly Page[]): void {
    for (const page of pages) {
      this.#pages.push({ rows: page.rows, endByte: page.endByte });
      this.#rows += page.rows;
    }
  }

  /** Lines of the pages that are not completely before the last place. */
  get rows(): number {
    return this.#rows;
  }

  /** Their size. */
  get bytes(): number {
    return (this.#pages.at(-1)?.endByte ?? this.#last.byte) - this.#last.byte;
  }

  /** Whether another place is there to be taken. */
  get hasNext(): boolean {
    return this.#rows - this.#last.lines >= this.#every;
  }

  /** The furthest place so far; call if there is one. */
  take(): LinePlace {
    const whole = this.#rows - this.#last.lines;
    let lines = this.#last.lines + whole - (whole % this.#every);
    let { byte } = this.#last;
    let passed = 0;
    for (const page of this.#pages) {
      if (page.rows > lines) break;
      lines -= page.rows;
      byte = page.endByte;
      passed += 1;
    }
    this.#pages = this.#pages.slice(passed);
    this.#rows = this.#pages.reduce((sum, { rows }) => sum + rows, 0);
    this.#last = { byte, lines };
    return this.#last;
  }
}
