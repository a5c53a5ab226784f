import { joinWindows } from '../../http/quota-window.ts';
import type { QuotaChange, QuotaState, QuotaStore, QuotaWindow } from '../../model/quota.ts';

/** What a run knew last of the window of its key. */
export interface QuotaMark {
  readonly remaining: number;
  /** Epoch ms. */
  readonly resetAtMs: number;
  /** Names the key without revealing it; older releases did not. */
  readonly key?: string | undefined;
}

export interface LedgerTravel {
  /** A run after the ledger was put away sent requests that it does not know of: its worker or its process was killed. */
  readonly isStale: boolean;
  /** What runs have noted last of this key, of this account and of others, by this machine's clock. */
  readonly marks: readonly QuotaMark[];
  /** Notes what is left where others find it if this run is killed; never rejects. */
  readonly note: (mark: QuotaMark) => Promise<void>;
}

/** From here on what is left is noted: twice what a killed run may have sent since its last note. */
const NOTED_REMAINING = 20;
/** As many as a key may send in a second, which is longer than a note takes. */
const UNKNOWN_REQUESTS = 10;

/**
 * The quota ledger of a key. That of one account travels with the state, so that it is stale after a run was killed: then the
 * first request goes alone and asks what is left of the window; none goes where next to nothing was left. Where a key has just
 * begun or ceased to be shared, another ledger has counted it before: what runs noted then counts here as well.
 */
export class TravellingLedger implements QuotaStore {
  readonly #ledger: QuotaStore;
  readonly #travel: LedgerTravel;
  #isFirst = true;
  #mark: QuotaMark | undefined;
  #isNoting = false;

  constructor(ledger: QuotaStore, travel: LedgerTravel) {
    this.#ledger = ledger;
    this.#travel = travel;
  }

  get warning(): string | undefined {
    return this.#ledger.warning;
  }

  async update<T>(change: QuotaChange<T>): Promise<T> {
    const { window, result } = await this.#ledger.update((before) => {
      const changed = change(this.#isFirst ? this.#begin(before) : before);
      this.#isFirst = false;
      return { state: changed.state, result: { window: changed.state.window, result: changed.result } };
    });
    if (window !== undefined) this.#keep(window);
    return result;
  }

  close(): Promise<void> {
    return this.#ledger.close();
  }

  #begin(before: QuotaState): QuotaState {
    const { isStale, marks } = this.#travel;
    const known = { ...before, window: joinMarks(before, marks) };
    return isStale ? distrust(known) : known;
  }

  #keep({ remaining, resetAtMs }: QuotaWindow): void {
    if (remaining > NOTED_REMAINING) return;
    if (this.#mark?.remaining === remaining && this.#mark.resetAtMs === resetAtMs) return;
    this.#mark = { remaining, resetAtMs };
    if (!this.#isNoting) void this.#note();
  }

  /** One at a time, so that none overtakes a later one. */
  async #note(): Promise<void> {
    this.#isNoting = true;
    let noted: QuotaMark | undefined;
    while (this.#mark !== undefined && this.#mark !== noted) {
      noted = this.#mark;
      await this.#travel.note(noted);
    }
    this.#isNoting = false;
  }
}

/** Of a stale ledger only the end of a window counts that may be spent; otherwise an answer has to tell. */
function distrust(state: QuotaState): QuotaState {
  const { window } = state;
  const isSpent = window !== undefined && window.remaining <= UNKNOWN_REQUESTS;
  return { ...state, window: isSpent ? { ...window, remaining: 0 } : undefined };
}

function joinMarks(
  { window, lastUsedAtMs }: QuotaState,
  marks: readonly QuotaMark[],
): QuotaWindow | undefined {
  return marks
    .map(({ remaining, resetAtMs }) => ({ remaining, resetAtMs, limit: undefined, seenAtMs: lastUsedAtMs }))
    .reduce<QuotaWindow | undefined>(joinWindows, window);
}
