import { type LearnedColumn, sliceIdOf } from '../model/stream.ts';
import type { FieldTree } from '../schema/observe-fields.ts';
import { EarlyIncoming } from '../warehouse/early-incoming.ts';
import type { IncomingPlace } from '../warehouse/incoming.ts';
import { tableExists } from '../warehouse/evolve-table.ts';
import { readQuarantineFilter } from '../warehouse/quarantine.ts';
import type { LinePlace } from '../stage/line-places.ts';
import type { Loading } from '../run/run-context.ts';
import { acceptsAll, type ContractQuestion } from './check-contract.ts';
import { planColumns } from './plan-columns.ts';

/** A scan whose rows are read while it is running. */
export interface EarlyScan {
  readonly recordsFile: string;
  /** The fields of its records; it grows with them. */
  readonly tree: FieldTree;
  readonly place: IncomingPlace;
}

/** Reads a scan's rows into the table `incoming` during the scan. Work that fails here is repeated later. */
export class EarlyRows {
  readonly #context: Loading;
  readonly #question: Promise<ContractQuestion | undefined>;
  readonly #incoming: EarlyIncoming;
  readonly #tree: FieldTree;
  #isOver = false;

  constructor(context: Loading, question: ContractQuestion, { recordsFile, tree, place }: EarlyScan) {
    this.#context = context;
    this.#tree = tree;
    this.#incoming = new EarlyIncoming(context.database, recordsFile, place);
    this.#question = settleQuestion(context, question);
  }

  /** Reads on up to the end of a line of the records file. */
  async readTo(end: LinePlace): Promise<void> {
    if (this.#isOver) return;
    try {
      const question = await this.#question;
      if (question === undefined || !acceptsAll(question, this.#tree)) return this.giveUp();
      const { database } = this.#context;
      const held = { tree: this.#tree, forced: [] };
      const { columns } = await planColumns(database, question, held);
      if (this.#incoming.endByte === 0) await database.beginReading();
      if (!(await this.#incoming.readTo(end, this.#tree, columns))) this.giveUp();
    } catch {
      // A disk or engine error recurs when the rows are needed, and is reported then.
      this.giveUp();
    }
  }

  /** The rows read so far, for the load of the whole scan; undefined if there are none. */
  get part(): EarlyIncoming | undefined {
    return this.#isOver || this.#incoming.endByte === 0 ? undefined : this.#incoming;
  }

  /** Discards what was read. */
  async drop(): Promise<void> {
    this.#isOver = true;
    await this.#incoming.drop().catch(() => undefined);
  }

  /** All is read again at the end. */
  giveUp(): void {
    this.#isOver = true;
  }
}

/** The contract of the stream's records; undefined if more than their fields decides about them. */
async function settleQuestion(
  { database }: Loading,
  question: ContractQuestion,
): Promise<ContractQuestion | undefined> {
  try {
    const { stream } = question;
    const learned: readonly LearnedColumn[] = (await tableExists(database, stream.table))
      ? question.learned
      : [];
    const released = await readQuarantineFilter(database, { stream: stream.name, slice: sliceIdOf(stream) });
    return released === undefined ? { ...question, learned } : undefined;
  } catch {
    return undefined;
  }
}
