import type { EarlyPack } from '../archive/early-pack.ts';
import type { FieldTree } from '../schema/observe-fields.ts';
import type { StagedPageEntry } from '../stage/stage-store.ts';
import type { EarlyIncoming } from '../warehouse/early-incoming.ts';
import { dropFirst, LONG_BYTES } from '../warehouse/incoming.ts';
import { LinePlaces } from '../stage/line-places.ts';
import type { StageFollower } from '../stage/scan-stage.ts';
import { beginEarlyPack, toPackedPages } from './archive-scan.ts';
import type { Loading } from '../run/run-context.ts';
import { EarlyRows } from './early-rows.ts';
import { chooseIncomingPlace } from './incoming-place.ts';
import type { ContractQuestion } from './check-contract.ts';

/** Size of a part: each part has a setup cost equal to reading a few MB. */
const PART_BYTES = 64 * 2 ** 20;
/** Rows that the engine compresses together. In the file, a part that ends within such a group is written again. */
const GROUP_ROWS = 122_880;
/** Bytes. Where a group is larger, nothing of a first scan is read early: temporary rows would be written twice. */
const MOST_GROUP_BYTES = 256 * 2 ** 20;

/** Reads and commits a scan with early work in parallel, and discards unused results. */
export async function withEarlyWork<T>(
  context: Loading,
  question: ContractQuestion,
  work: (early: EarlyWork) => Promise<T>,
): Promise<T> {
  const early = new EarlyWork(context, question);
  try {
    return await work(early);
  } finally {
    await early.end();
  }
}

/**
 * Processes a long scan's pages while more are fetched: reads their rows into a table, and packs their records for
 * the archive. The results are used only after the verdict, and only if they equal what the whole scan would give;
 * otherwise they are discarded.
 */
export class EarlyWork implements StageFollower {
  readonly #context: Loading;
  readonly #question: ContractQuestion;
  #recordsFile: string | undefined;
  #tree: FieldTree | undefined;
  /** Where parts of a scan end whose rows go into the file. */
  #groups: LinePlaces | undefined;
  #rows: EarlyRows | undefined;
  #pack: EarlyPack | undefined;
  /** Staged pages while the scan may still turn out to be short. */
  #held: StagedPageEntry[] = [];
  #endByte = 0;
  #readByte = 0;
  #reading: Promise<void> | undefined;
  #aside: Promise<void> | undefined;

  constructor(context: Loading, question: ContractQuestion) {
    this.#context = context;
    this.#question = question;
  }

  async begin(recordsFile: string, tree: FieldTree): Promise<void> {
    await this.end();
    const { database } = this.#context;
    const choice = chooseIncomingPlace(database, this.#question.stream);
    // What fails here fails again when the rows are needed, and is reported then.
    const place = await choice.catch(() => 'temporary');
    this.#groups = place === 'file' ? new LinePlaces(GROUP_ROWS) : undefined;
    this.#recordsFile = recordsFile;
    this.#tree = tree;
  }

  take(pages: readonly StagedPageEntry[]): void {
    if (this.#recordsFile === undefined || this.#tree === undefined) return;
    const startByte = this.#endByte;
    this.#endByte = pages.at(-1)?.endByte ?? startByte;
    if (this.#pack !== undefined) this.#pack.take(toPackedPages(pages, startByte));
    else if (this.#rows === undefined) this.#held.push(...pages);
    this.#groups?.add(pages);
    if (this.#aside !== undefined || this.#endByte < LONG_BYTES) return;
    if (this.#rows === undefined) this.#start(this.#recordsFile, this.#tree);
    if (this.#isPartTooLong()) this.#rows?.giveUp();
    else if (this.#isPartWhole()) this.#reading ??= this.#readOn();
  }

  #start(recordsFile: string, tree: FieldTree): void {
    const place = this.#groups === undefined ? 'temporary' : 'file';
    this.#rows = new EarlyRows(this.#context, this.#question, { recordsFile, tree, place });
    if (this.#isGroupTooLong()) this.#rows.giveUp();
    const { stream, checkpoint } = this.#question;
    this.#pack = beginEarlyPack(this.#context, stream, checkpoint, recordsFile);
    this.#pack?.take(toPackedPages(this.#held));
    this.#held = [];
  }

  /** Judged by the first records: later ones mostly have their size. */
  #isGroupTooLong(): boolean {
    if (this.#groups === undefined) return false;
    return (this.#groups.bytes / this.#groups.rows) * GROUP_ROWS > MOST_GROUP_BYTES;
  }

  #isPartWhole(): boolean {
    if (this.#groups !== undefined) return this.#groups.hasNext;
    return this.#readByte === 0 || this.#endByte - this.#readByte >= PART_BYTES;
  }

  /** Where records become long, a group would need more space and time than is left while pages come. */
  #isPartTooLong(): boolean {
    return this.#groups?.hasNext === false && this.#groups.bytes > MOST_GROUP_BYTES;
  }

  async #readOn(): Promise<void> {
    while (this.#isPartWhole()) {
      const end = this.#groups?.take() ?? { byte: this.#endByte, lines: 0 };
      await this.#rows?.readTo(end);
      this.#readByte = end.byte;
    }
    this.#reading = undefined;
  }

  /** Discards the rows read so far and does not use the work file until `work` is done, which may close it. */
  async aside(work: () => Promise<void>): Promise<void> {
    const stepAside = async () => {
      await this.#reading;
      await this.#rows?.drop();
      await work();
    };
    this.#aside = stepAside().finally(() => (this.#aside = undefined));
    return this.#aside;
  }

  /** The rows read so far, once reading has stopped; ownership moves to the caller. */
  async takeRows(): Promise<EarlyIncoming | undefined> {
    await this.#reading;
    const rows = this.#rows;
    this.#rows = undefined;
    return rows?.part;
  }

  /** The pack started for the archive; the caller must finish or abandon it. */
  takePack(): EarlyPack | undefined {
    const pack = this.#pack;
    this.#pack = undefined;
    return pack;
  }

  /** Discards unused results. */
  async end(): Promise<void> {
    this.#recordsFile = undefined;
    await this.#aside?.catch(() => undefined);
    await this.#reading;
    await this.#rows?.drop();
    await dropFirst(this.#context.database).catch(() => undefined);
    await this.#pack?.abandon();
    this.#rows = undefined;
    this.#pack = undefined;
    this.#held = [];
    this.#endByte = 0;
    this.#readByte = 0;
  }
}
