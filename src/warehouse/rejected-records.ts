import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Database } from './database.ts';
import { quoteLiteral } from './identifiers.ts';
import { LineWriter, type WrittenLines } from '../stage/line-writer.ts';

/** A rejected record with the reason. */
export interface RejectedRecord {
  /** Position of the record in its scan. */
  readonly position: number;
  /** Offset of its page, and its index in the page. */
  readonly pageOffset: number;
  readonly rowIndex: number;
  readonly reason: string;
  /** Path of the field, joined by dots; empty for the whole record. */
  readonly path: string;
  /** The record as received. */
  readonly text: string;
}

/** The rejected records of a scan, in a file: there may be too many for memory. */
export interface RejectedRecords {
  readonly count: number;
  readonly first: Omit<RejectedRecord, 'text'> | undefined;
  readonly lines: WrittenLines;
}

/** Table of a scan's rejected records, if any. */
export const REJECTED = 'temp."~rejected"';

/** Writes rejected records, one per line. */
export class RejectedWriter {
  readonly #lines: LineWriter;
  #first: RejectedRecords['first'];

  constructor(path: string) {
    this.#lines = new LineWriter(path);
  }

  /** Adds a record; await the returned promise, if any. */
  add({ position, pageOffset, rowIndex, reason, path, text }: RejectedRecord): Promise<void> | undefined {
    this.#first ??= { position, pageOffset, rowIndex, reason, path };
    const cells = { o: pageOffset, i: rowIndex, r: reason.toWellFormed(), f: path.toWellFormed(), t: text };
    return this.#lines.add(`${JSON.stringify(cells)}\n`);
  }

  async finish(): Promise<RejectedRecords> {
    const lines = await this.#lines.finish();
    return { count: lines.count, first: this.#first, lines };
  }

  close(): Promise<void> {
    return this.#lines.close();
  }
}

/** Copies the records of a file ahead of those that follow. */
export async function copyRejected(from: RejectedRecords, to: RejectedWriter): Promise<void> {
  if (from.count === 0) return;
  let first = from.first;
  for await (const line of createInterface({
    input: createReadStream(from.lines.file, { encoding: 'utf8' }),
  })) {
    const { o, i, r, f, t } = JSON.parse(line) as Record<'o' | 'i', number> & Record<'r' | 'f' | 't', string>;
    const position = first?.position ?? 0;
    await to.add({ position, pageOffset: o, rowIndex: i, reason: r, path: f, text: t });
    first = undefined;
  }
}

/** Creates the table `rejected` from the records; call only if there are any. */
export async function loadRejected(database: Database, { lines }: RejectedRecords): Promise<void> {
  await database.run(`DROP TABLE IF EXISTS ${REJECTED}`);
  await database.run(`CREATE TEMP TABLE "~rejected" AS
    SELECT o AS page_offset, i AS row_index, r AS reason, f AS path, t AS record
      FROM read_json(${quoteLiteral(lines.file)}, format = 'newline_delimited', maximum_object_size = ${lines.lineLimit},
        columns = {o: 'BIGINT', i: 'BIGINT', r: 'VARCHAR', f: 'VARCHAR', t: 'VARCHAR'})`);
}
