import { takeTurn } from '../in-turn.ts';

/**
 * Lets one run of this process at a time have a catalog file open, as often as it needs to. Accounts have folders of
 * extensions of their own, each of which brings another SQLite into the process, and these do not see each other's locks:
 * the system gives a lock on a file to the whole process. Two at once would overwrite each other's commits.
 */
export class CatalogTurn {
  readonly #place: string;
  #uses = 0;
  #turn: Promise<() => void> | undefined;

  constructor(place: string) {
    this.#place = place;
  }

  /** Returns once the catalog may be opened; what it returns is called when it is closed, or was not opened. */
  async enter(signal: AbortSignal | undefined): Promise<() => void> {
    this.#uses += 1;
    const turn = (this.#turn ??= takeTurn(this.#place, signal));
    try {
      await turn;
    } catch (thrown) {
      this.#leave(turn);
      throw thrown;
    }
    let isIn = true;
    return () => {
      if (isIn) this.#leave(turn);
      isIn = false;
    };
  }

  #leave(turn: Promise<() => void>): void {
    this.#uses -= 1;
    if (this.#uses > 0) return;
    this.#turn = undefined;
    void turn.then(
      (end) => {
        end();
      },
      () => undefined,
    );
  }
}
