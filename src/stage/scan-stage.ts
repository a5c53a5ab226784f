import type { Page, PageRecord } from '../model/page.ts';
import { createFieldTree, type FieldTree, isRecordObject, observeRecord } from '../schema/observe-fields.ts';
import { SeenObserver } from '../schema/observe-seen.ts';
import { BufferPool } from './buffer-pool.ts';
import { readStagedRecords, writeStagedLines } from './staged-records.ts';
import { recordsFileOf, type StagedPageEntry, type StagedScan, StageStore } from './stage-store.ts';
import type { AcceptedPage, StagedPage } from './scanned-page.ts';

/** Positions of extra pages' records start here: beyond those of any scan. */
export const BESIDES = 2 ** 40;

/** A worker that processes pages as soon as they are on the disk. */
export interface StageFollower {
  /** A new, empty stage starts; the previous one is void. `tree` grows with its records. */
  begin(recordsFile: string, tree: FieldTree): Promise<void>;
  take(pages: readonly StagedPageEntry[]): void;
}

/** The stage of one scan: its pages on the disk, and the fields that were seen in them. */
export class ScanStage {
  readonly tree = createFieldTree();
  readonly folder: string;
  readonly #seen = new SeenObserver(this.tree);
  readonly #pool = new BufferPool();
  #store: StageStore | undefined;
  #rowsBesides = 0;

  readonly #follower: StageFollower | undefined;

  /** @param follower notified of new stages, not of resumed ones */
  constructor(folder: string, follower?: StageFollower) {
    this.folder = folder;
    this.#follower = follower;
  }

  get recordsFile(): string {
    return this.#store?.recordsFile ?? '';
  }

  async begin(scan: StagedScan): Promise<void> {
    const onWritten = (pages: readonly StagedPageEntry[]) => this.#follower?.take(pages);
    // Before the files that it may still be reading are removed.
    await this.#follower?.begin(recordsFileOf(this.folder), this.tree);
    this.#store = await StageStore.begin(this.folder, scan, { onWritten });
  }

  /** Resumes what is staged; reads the records to observe their fields. */
  async reopen(
    scan: StagedScan,
    pages: readonly StagedPageEntry[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    this.#store = await StageStore.reopen(this.folder, scan, pages);
    for await (const records of readStagedRecords(this.recordsFile, signal)) this.#observe(records);
  }

  /** Stages a page's new records. The next page may be requested in the meantime: `flush` throws on failure. */
  async add(accepted: AcceptedPage, kept: readonly PageRecord[], onStaged: () => void): Promise<void> {
    const entry = { ...toEntry(accepted), rows: kept.length };
    await this.#append(entry, accepted.firstPosition, kept, onStaged);
  }

  /** Stages an extra page that does not match its neighbours, so that the last attempt loses no record. */
  async addBesides({ offset, records }: Page): Promise<void> {
    const firstPosition = BESIDES + this.#rowsBesides;
    this.#rowsBesides += records.length;
    await this.#append({ offset, rows: records.length, besides: true }, firstPosition, records);
  }

  async #append(
    entry: Omit<StagedPageEntry, 'endByte' | 'firstPosition'>,
    firstPosition: number,
    records: readonly PageRecord[],
    onStaged?: () => void,
  ): Promise<void> {
    this.#observe(records);
    const { space, lines } = writeStagedLines(firstPosition, records, (size) => this.#pool.take(size));
    const written = this.#store?.append({ entry: { ...entry, firstPosition }, lines });
    written
      ?.then(() => {
        this.#pool.give(space);
        onStaged?.();
      })
      .catch(() => undefined);
    await this.#store?.settle();
  }

  #observe(records: readonly Pick<PageRecord, 'value' | 'members'>[]): void {
    for (const record of records) {
      const { members } = record;
      if (members !== undefined) this.#seen.observe(members);
      else if (isRecordObject(record.value)) observeRecord(this.tree, record.value);
    }
  }

  /** Waits until every page is on the disk. */
  async flush(): Promise<void> {
    await this.#store?.flush();
  }

  async close(): Promise<void> {
    await this.#store?.close();
  }
}

function toEntry(accepted: AcceptedPage): Omit<StagedPageEntry, 'endByte'> {
  const { offset, firstPosition, kept, firstHash, lastHash, total, pageHash, textHash, next } = accepted;
  const { readAtMs, serverDateMs } = accepted;
  return {
    offset,
    firstPosition,
    rows: kept.length,
    ...(firstHash === undefined ? {} : { firstHash }),
    ...(lastHash === undefined ? {} : { lastHash }),
    ...(total === undefined ? {} : { total }),
    ...(pageHash === undefined ? {} : { pageHash }),
    textHash,
    ...(next === undefined ? {} : { next }),
    ...(readAtMs === undefined ? {} : { readAtMs }),
    ...(serverDateMs === undefined ? {} : { serverDateMs }),
  };
}

/** Converts an index entry for a resumed scan. */
export function toStagedPage(entry: StagedPageEntry): StagedPage {
  const { offset, firstPosition, rows, firstHash, lastHash, total, textHash } = entry;
  return { offset, firstPosition, rows, firstHash, lastHash, total, textHash };
}
