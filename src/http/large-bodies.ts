/** What every body may have in memory while others do; beyond it one goes after the other, bytes. */
export const LARGE_BODY_BYTES = 4 * 2 ** 20;

/** The place of one body in the queue for memory. */
export interface BodyTurn {
  /** True once the body may grow; `whenReady` is called if that is later. */
  take(whenReady: () => void): boolean;
  /** The body is in its reader's hands, or given up. */
  end(): void;
}

/**
 * Lets bodies beyond a size into memory one at a time. Without it a server that answers every page at the
 * limit, or with a small text that unpacks to that, would fill as many times the limit as pages are in flight.
 */
export class LargeBodies {
  /** The first has its turn. */
  readonly #queue: { readonly whenReady: () => void }[] = [];

  open(): BodyTurn {
    let place: { readonly whenReady: () => void } | undefined;
    return {
      take: (whenReady) => {
        if (place === undefined) {
          place = { whenReady };
          this.#queue.push(place);
        }
        return this.#queue[0] === place;
      },
      end: () => {
        const at = place === undefined ? -1 : this.#queue.indexOf(place);
        if (at === -1) return;
        this.#queue.splice(at, 1);
        if (at === 0) this.#queue[0]?.whenReady();
      },
    };
  }
}
