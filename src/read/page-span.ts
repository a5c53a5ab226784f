import { toDate } from '../model/dates.ts';
import { formatDuration } from '../text/duration.ts';

/**
 * How far apart the pages of a scan may be read and still count as one version of the data, ms. It is not known when
 * a source is refreshed ("typically daily"): a few hours within one server day are the best assumption.
 */
export const ONE_VERSION_MS = 6 * 3_600_000;

/** When a page was read: by this machine's clock, and by the server's where its answer had a date. */
export interface PageTime {
  readonly readAtMs: number;
  readonly serverDateMs?: number | undefined;
}

/** From when to when the pages of a scan were read, and its head compared. */
export class PageSpan {
  readonly #local = new Range();
  readonly #server = new Range();
  #isDated = true;

  add({ readAtMs, serverDateMs }: PageTime): void {
    this.#local.add(readAtMs);
    if (serverDateMs === undefined) this.#isDated = false;
    else this.#server.add(serverDateMs);
  }

  /** Whether the source may have been refreshed between two pages, by either clock: both may be set meanwhile. */
  get isApart(): boolean {
    return Math.max(this.#local.length, this.#server.length) > ONE_VERSION_MS || this.#decisive.spansDays;
  }

  /** When the span began, in readable form, and how long it is. */
  describe(): string {
    const longer = this.#local.length > this.#server.length ? this.#local : this.#server;
    const range = this.isApart && !this.#decisive.spansDays ? longer : this.#decisive;
    return `${formatDuration(range.length)} apart, from ${range.describe()} UTC`;
  }

  /** The server's days, if all its answers had a date and the dates advance. */
  get #decisive(): Range {
    return this.#isDated && this.#server.length > 0 ? this.#server : this.#local;
  }
}

/** Whether pages read at an earlier time can be continued now. */
export function mayFollow(earlier: PageTime, now: PageTime): boolean {
  const span = new PageSpan();
  span.add(earlier);
  span.add(now);
  return !span.isApart;
}

class Range {
  #first = Infinity;
  #last = -Infinity;

  add(ms: number): void {
    this.#first = Math.min(this.#first, ms);
    this.#last = Math.max(this.#last, ms);
  }

  get isEmpty(): boolean {
    return this.#last < this.#first;
  }

  get length(): number {
    return this.isEmpty ? 0 : this.#last - this.#first;
  }

  get spansDays(): boolean {
    return !this.isEmpty && toDate(this.#first) !== toDate(this.#last);
  }

  describe(): string {
    const write = (ms: number) => new Date(ms).toISOString().slice(0, 16).replace('T', ' ');
    return `${write(this.#first)} to ${write(this.#last)}`;
  }
}
