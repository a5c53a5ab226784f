import type { Page } from '../model/page.ts';

/** Maximum number of empty pages in a row: some APIs filter after paginating. */
const MOST_EMPTY_PAGES = 100;

/** A page of a chain, and what named it; undefined for the first page. */
export interface ChainedPage extends Pick<Page, 'next' | 'total'> {
  readonly rows: number;
  /** Fingerprint of the page as received; missing on pages that an older version staged. */
  readonly textHash: string | undefined;
  readonly cursor?: string | undefined;
}

/** What pages that follow one another show: that they loop, never end, or belong to moving data. */
export class ChainCheck {
  readonly #countsAll: boolean;
  readonly #seen = new Set<string>();
  #head: { readonly total: number | undefined } | undefined;
  #emptyPages = 0;
  #problem: string | undefined;
  #move: string | undefined;

  /** @param countsAll whether each page declares the same total; where cursors name records it may be what is left */
  constructor(countsAll: boolean) {
    this.#countsAll = countsAll;
  }

  /** Why the chain cannot be followed. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** How the data moved while it was read. */
  get move(): string | undefined {
    return this.#move;
  }

  clear(): void {
    this.#seen.clear();
    this.#head = undefined;
  }

  /** Adds a page that was staged by an earlier run, after `position` records. */
  restore(page: ChainedPage, position: number): void {
    this.#compareTotal(page, position);
    const { rows, textHash } = page;
    if (textHash !== undefined && rows > 0) this.#seen.add(textHash);
  }

  /** Adds the page after `position` records. A chain only ends if each page brings something new. */
  add({ next, total, rows, textHash, cursor }: ChainedPage, position: number): void {
    this.#emptyPages = rows === 0 ? this.#emptyPages + 1 : 0;
    if (next !== undefined && next === cursor)
      this.#problem = `the page after record ${position} names itself as the next one`;
    else if (rows > 0 && textHash !== undefined && this.#seen.has(textHash))
      this.#problem = `the page after record ${position} was already returned: pagination is looping`;
    else if (next !== undefined && this.#emptyPages > MOST_EMPTY_PAGES)
      this.#problem = `${MOST_EMPTY_PAGES} pages in a row had no records, and the API announces more`;
    this.restore({ total, rows, textHash }, position);
  }

  #compareTotal(page: ChainedPage, position: number): void {
    this.#head ??= { total: page.total };
    const { total } = this.#head;
    if (page.total === total || (!this.#countsAll && mayCountLess(page, position, total))) return;
    this.#move ??= `the declared total changed from ${total ?? 'none'} to ${page.total ?? 'none'}`;
  }
}

/** Whether a page counts what is left, before or after it, or its own records: another total shows a move. */
function mayCountLess({ total, rows }: ChainedPage, position: number, first: number | undefined): boolean {
  if (total === undefined || first === undefined) return true;
  return [first - position, first - position - rows, rows].includes(total);
}
