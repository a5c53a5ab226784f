import { type LearnedColumn, sliceIdOf, type Stream } from '../../model/stream.ts';
import type { FieldTree } from '../../schema/observe-fields.ts';
import { EarlyIncoming } from '../../warehouse/early-incoming.ts';
import { tableExists } from '../../warehouse/evolve-table.ts';
import { readQuarantineFilter } from '../../warehouse/quarantine.ts';
import type { RunContext } from '../run-context.ts';
import { acceptsAll, type ContractQuestion } from './check-contract.ts';
import { planColumns } from './plan-columns.ts';

/** Reads a scan's rows into the table `incoming` while the scan goes on. What goes wrong here is done again later. */
export class EarlyRows {
  readonly #context: RunContext;
  readonly #stream: Stream;
  readonly #question: Promise<ContractQuestion | undefined>;
  readonly #incoming: EarlyIncoming;
  readonly #tree: FieldTree;
  #isOver = false;

  constructor(
    context: RunContext,
    question: ContractQuestion,
    scan: { readonly recordsFile: string; readonly tree: FieldTree },
  ) {
    this.#context = context;
    this.#stream = question.stream;
    this.#tree = scan.tree;
    this.#incoming = new EarlyIncoming(context.database, scan.recordsFile);
    this.#question = settleQuestion(context, question);
  }

  /** Reads what is whole up to a byte of the records file. */
  async readTo(endByte: number): Promise<void> {
    if (this.#isOver) return;
    try {
      const question = await this.#question;
      if (question === undefined || !acceptsAll(question, this.#tree)) return this.#giveUp();
      const { database, settings } = this.#context;
      const held = { tree: this.#tree, forced: [] };
      const { learned } = question;
      const { columns } = await planColumns(database, this.#stream, held, learned, settings.hashKey);
      if (this.#incoming.endByte === 0) await database.beginReading();
      if (!(await this.#incoming.readTo(endByte, this.#tree, columns))) this.#giveUp();
    } catch {
      // An error of the disk or the engine comes again when the rows are due, and is told then.
      this.#giveUp();
    }
  }

  /** What was read, for the load of the whole scan; undefined where nothing was. */
  get part(): EarlyIncoming | undefined {
    return this.#isOver || this.#incoming.endByte === 0 ? undefined : this.#incoming;
  }

  /** Discards what was read. */
  async drop(): Promise<void> {
    this.#isOver = true;
    await this.#incoming.drop().catch(() => undefined);
  }

  #giveUp(): void {
    this.#isOver = true;
  }
}

/** What the stream's records are held against; undefined where more than their fields would decide about them. */
async function settleQuestion(
  { database }: RunContext,
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
