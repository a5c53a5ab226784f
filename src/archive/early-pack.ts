import type { ArchivedContent } from './archived-scan.ts';
import { joinNeighbours, orderPages, type PackedPage, type PageRuns, packRuns } from './pack-records.ts';

/**
 * Packs a scan's pages while more of them come, as far as each follows the one before it. When the scan has ended,
 * what was packed counts only if it is what packing all of its pages would begin with.
 */
export class EarlyPack {
  readonly #content: Promise<ArchivedContent>;
  readonly #ending = new AbortController();
  /** Every page, in the order of the file. */
  readonly #all: PackedPage[] = [];
  /** Pages ahead of one that has not come yet, by position. */
  readonly #waiting = new Map<number, PackedPage>();
  #ready: PackedPage[] = [];
  #isClosed = false;
  #wake: (() => void) | undefined;
  #nextPosition = 0;
  /** Pages in the order in which they are packed, as far as that is known. */
  readonly #begun: PackedPage[] = [];

  /** @param prepare makes the folder ready; done first. */
  constructor(folder: string, recordsFile: string, prepare: () => Promise<void>) {
    this.#content = prepare().then(() =>
      packRuns(folder, recordsFile, this.#takeRuns(), this.#ending.signal),
    );
    // It is asked for when the scan has ended, and a failure is found then.
    this.#content.catch(() => undefined);
  }

  /** Takes pages that are whole in the records file. */
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

  /** Packs the rest of a scan whose pages were all taken; undefined where it has to be packed anew. */
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

  /** Ends it, and leaves nothing behind. */
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
