import type { ArchivedContent } from './archived-scan.ts';
import { joinNeighbours, orderPages, type PackedPage, type PageRuns, packRuns } from './pack-records.ts';

/**
 * Packs a scan's pages while it is still running, as long as each page follows the previous one. When the scan ends,
 * the packed part is used only if it is a prefix of what packing all pages would give.
 */
export class EarlyPack {
  readonly #content: Promise<ArchivedContent>;
  readonly #ending = new AbortController();
  /** Every page, in the order of the file. */
  readonly #all: PackedPage[] = [];
  /** Pages that wait for an earlier page, by position. */
  readonly #waiting = new Map<number, PackedPage>();
  #ready: PackedPage[] = [];
  #isClosed = false;
  #wake: (() => void) | undefined;
  #nextPosition = 0;
  /** Pages whose place in the file is known, in that order. */
  readonly #begun: PackedPage[] = [];

  /** @param prepare creates the folder; called first */
  constructor(folder: string, recordsFile: string, prepare: () => Promise<void>) {
    this.#content = prepare().then(() =>
      packRuns(folder, recordsFile, this.#takeRuns(), this.#ending.signal),
    );
    // Awaited when the scan has ended; a failure is handled then.
    this.#content.catch(() => undefined);
  }

  /** Adds pages that are completely written to the records file. */
  take(pages: readonly PackedPage[]): void {
    this.#all.push(...pages);
    for (const page of pages)
      if (page.rows > 0 && page.besides !== true) this.#waiting.set(page.firstPosition, page);
    for (let next = this.#takeNext(); next !== undefined; next = this.#takeNext()) this.#push(next);
    this.#wake?.();
  }

  #takeNext(): PackedPage | undefined {
    const next = this.#waiting.get(this.#nextPosition);
    this.#waiting.delete(this.#nextPosition);
    return next;
  }

  #push(page: PackedPage): void {
    this.#begun.push(page);
    this.#nextPosition = page.firstPosition + page.rows;
    this.#ready.push(page);
  }

  /**
   * Packs the remaining pages once all have been added; undefined if the scan has to be packed again from the start.
   */
  async finish(): Promise<ArchivedContent | undefined> {
    const ordered = orderPages(this.#all);
    if (this.#begun.some((page, at) => page !== ordered[at])) {
      await this.abandon();
      return undefined;
    }
    this.#ready.push(...ordered.slice(this.#begun.length));
    this.#isClosed = true;
    this.#wake?.();
    return this.#content.catch(() => undefined);
  }

  /** Stops packing and removes what was written. */
  async abandon(): Promise<void> {
    this.#ending.abort();
    this.#isClosed = true;
    this.#wake?.();
    await this.#content.catch(() => undefined);
  }

  async *#takeRuns(): AsyncGenerator<PageRuns> {
    for (;;) {
      const ready = this.#ready;
      this.#ready = [];
      if (ready.length > 0) yield joinNeighbours(ready);
      else if (this.#isClosed) return;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}
