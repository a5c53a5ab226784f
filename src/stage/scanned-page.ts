import type { PageRecord } from '../model/page.ts';

/** What one page added: the records to keep, and the fingerprints for its joints. */
export interface AcceptedPage {
  readonly offset: number;
  /** Position of the first kept record. */
  readonly firstPosition: number;
  readonly kept: readonly PageRecord[];
  readonly firstHash: string | undefined;
  /** Fingerprint of the last kept record. */
  readonly lastHash: string | undefined;
  readonly total: number | undefined;
  /** Fingerprint of the whole page by value; only of the scan's first. */
  readonly pageHash: string | undefined;
  /** Fingerprint of the whole page as received. */
  readonly textHash: string;
  /** Cursor of the next page, for APIs that page by cursor. */
  readonly next?: string | undefined;
  readonly readAtMs?: number | undefined;
  readonly serverDateMs?: number | undefined;
}

/** A page as the stage stores it; enough to resume a scan after a crash. */
export interface StagedPage {
  readonly offset: number;
  readonly firstPosition: number;
  readonly rows: number;
  readonly firstHash: string | undefined;
  readonly lastHash: string | undefined;
  readonly total: number | undefined;
  readonly textHash: string | undefined;
}

/** What the stage stores about a scan's first page. */
export interface StagedHead {
  readonly total?: number | undefined;
  readonly rows: number;
  readonly pageHash?: string | undefined;
}
