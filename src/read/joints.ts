/** A page at a joint: its offset and a fingerprint of it as received. */
export interface KnownPage {
  readonly offset: number;
  /** Missing on pages that an older version staged. */
  readonly textHash: string | undefined;
}

/** A joint at which two pages do not have the same record. */
export interface Misfit {
  readonly position: number;
  /** The page that was accepted there before. */
  readonly neighbour: KnownPage;
}

interface KnownRecord {
  readonly hash: string;
  readonly page: KnownPage;
}

/** Fingerprints of the records at which the pages of a scan begin and end, and of the pages themselves. */
export class Joints {
  readonly #recordAt = new Map<number, KnownRecord>();
  readonly #offsetOf = new Map<string, number>();
  readonly #positionOf = new Map<string, number>();

  /**
   * Records the fingerprint at a position; false if another page had a different record there. A match is kept: a
   * page without new records is requested again and must still match.
   */
  add(position: number, hash: string | undefined, page: KnownPage): boolean {
    // An empty page has no first record to compare: it is detected because it makes no progress.
    if (hash === undefined) return true;
    if (!this.#positionOf.has(hash)) this.#positionOf.set(hash, position);
    const known = this.#recordAt.get(position);
    if (known === undefined) this.#recordAt.set(position, { hash, page });
    return known === undefined || known.hash === hash;
  }

  /** Notes a page as a whole. */
  addPage({ offset, textHash }: KnownPage): void {
    if (textHash !== undefined && !this.#offsetOf.has(textHash)) this.#offsetOf.set(textHash, offset);
  }

  /** The misfit a record would make at a position, if any. */
  check(position: number, hash: string | undefined): Misfit | undefined {
    const known = hash === undefined ? undefined : this.#recordAt.get(position);
    return known === undefined || known.hash === hash ? undefined : { position, neighbour: known.page };
  }

  /** Whether a page starts or ends with an equal record at another position. */
  isElsewhere(position: number, hash: string): boolean {
    return (this.#positionOf.get(hash) ?? position) !== position;
  }

  /** The offset of an equal page accepted elsewhere. */
  findTwin({ offset, textHash }: KnownPage): number | undefined {
    const found = textHash === undefined ? undefined : this.#offsetOf.get(textHash);
    return found === offset ? undefined : found;
  }
}
