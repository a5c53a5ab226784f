import { type ProgressEvent } from '../../model/progress.ts';
import type { RunObserver } from '../../model/run-observer.ts';

/** Of the pages of a run, so that a long run does not put away the same pages again and again. */
const SHARE = 0.1;

/** Puts staged pages away while a run reads, so that a kill costs only the last of them. */
export class StagePuts implements RunObserver {
  readonly name = 'what puts pages away';
  readonly #everyPages: number;
  readonly #put: () => Promise<void>;
  #pages = 0;
  #pagesPut = 0;
  #work: Promise<void> | undefined;

  /** @param put puts away all pages that are staged by then; never rejects */
  constructor(everyPages: number, put: () => Promise<void>) {
    this.#everyPages = everyPages;
    this.#put = put;
  }

  onEvent(event: ProgressEvent): void {
    // Pages of earlier runs are put away again with each put.
    if (event.type === 'stream-resumed') this.#resumed += event.pagesHeld;
    if (event.type !== 'page-staged') return;
    this.#pages += 1;
    const least = Math.max(this.#everyPages, (this.#pages + this.#resumed) * SHARE);
    if (this.#work !== undefined || this.#pages - this.#pagesPut < least) return;
    const pages = this.#pages;
    this.#work = this.#put().finally(() => {
      this.#pagesPut = pages;
      this.#work = undefined;
    });
  }

  #resumed = 0;

  /** Waits for a put that was begun. */
  async settle(): Promise<void> {
    await this.#work;
  }
}
