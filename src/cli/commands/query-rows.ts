import { getHeapStatistics } from 'node:v8';
import { AbortedError, ConfigError, SyncError } from '../../model/errors.ts';
import type { QueryCell, QueryResult } from '../../model/reports.ts';
import type { TakeRows } from '../../model/take-rows.ts';
import { readWholeNumbers } from '../../render/query-cells.ts';
import { createRowFormat, type RowFormat, type RowFormatName } from '../../render/query-formats.ts';
import { formatCountOf } from '../../text/format-count.ts';
import type { CliContext } from '../frame/context.ts';
import { waitForRoom, watchWrites } from '../terminal/pipes.ts';

// A pipe takes about as much at once, and many short rows are one write.
const WRITE_CHARACTERS = 2 ** 16;
/** What a row, and a cell of it, take besides the characters of their texts, bytes. */
const ROW_BYTES = 64;
const CELL_BYTES = 40;
/** Until a result is printed, it is in memory in several forms (measured: seven times what is counted here). */
const HEAP_PARTS = 12;

/** Prints rows as they are read, no faster than stdout takes them. */
export interface PrintedRows {
  readonly take: TakeRows;
  /** Prints what comes after the last row. */
  readonly finish: () => Promise<void>;
  readonly count: () => number;
  /** An error that came after some rows, with the advice that what is printed is not all. */
  readonly explain: (error: unknown) => unknown;
}

/** Opens stdout for rows; they end quietly where its reader has closed its end. */
export function printRows({ output, signal }: CliContext, format: RowFormatName): PrintedRows {
  const { stream, isTerminal } = output.stdout;
  const findFailure = watchWrites(stream);
  let rowFormat: RowFormat | undefined;
  let count = 0;

  /** False if nothing more can be written: what a failure means for the exit code is decided where all are watched. */
  async function write(text: string): Promise<boolean> {
    const isOpen = () => findFailure() === undefined && stream.destroyed !== true && !signal.aborted;
    if (!isOpen()) return false;
    if (stream.write(text) === false) await waitForRoom(stream, signal);
    return isOpen();
  }

  async function take(portion: QueryResult): Promise<boolean> {
    const { columns, rows } = readWholeNumbers(portion);
    let text = '';
    if (rowFormat === undefined) {
      rowFormat = createRowFormat(columns, format, isTerminal);
      text = rowFormat.begin;
    }
    for (const row of rows) {
      text += `${count === 0 ? '' : rowFormat.separator}${rowFormat.writeRow(row)}`;
      count += 1;
      if (text.length < WRITE_CHARACTERS) continue;
      if (!(await write(text))) return false;
      text = '';
    }
    return write(text);
  }

  return {
    take,
    async finish() {
      if (rowFormat !== undefined && rowFormat.end !== '') await write(rowFormat.end);
    },
    count: () => count,
    explain(error) {
      if (count === 0 || !(error instanceof SyncError)) return error;
      const advice = error instanceof AbortedError ? 'Run the command again for all of it.' : error.hint;
      return error.withHint(
        `The output ends after ${formatCountOf(count, 'row')} and is incomplete. ${advice}`,
      );
    },
  };
}

/** Rows that are printed together. */
export interface HeldRows {
  readonly take: TakeRows;
  /** Throws ConfigError `query_failed` (2) if they are too many for the memory of this process. */
  readonly held: () => QueryResult;
}

/** What rows are held for, and how many. */
export interface HoldOptions {
  readonly mostRows: number;
  readonly what: 'a table' | '--json';
  /** Bytes, estimated; by default what the heap has room for. */
  readonly mostBytes?: number;
}

/** Holds rows until they can be printed, up to `mostRows` and to what fits into memory. */
export function holdRows({ mostRows, what, mostBytes = findRoom() }: HoldOptions): HeldRows {
  let columns: QueryResult['columns'] = [];
  const rows: (readonly QueryCell[])[] = [];
  const widths: number[] = [];
  let bytes = 0;
  let isTooMuch = false;

  function hold(row: readonly QueryCell[]): void {
    rows.push(row);
    bytes += ROW_BYTES;
    for (const [at, cell] of row.entries()) {
      const length = typeof cell === 'string' ? cell.length : 0;
      bytes += CELL_BYTES + length;
      widths[at] = Math.max(widths[at] ?? 0, length);
    }
    // A long value makes its column as wide in each line of a table.
    const lineLength = what === 'a table' ? widths.reduce((sum, width) => sum + width, 0) : 0;
    isTooMuch = Math.max(bytes, lineLength * rows.length) > mostBytes;
  }

  return {
    take(portion) {
      ({ columns } = portion);
      for (const row of portion.rows) if (rows.length < mostRows && !isTooMuch) hold(row);
      return Promise.resolve(rows.length < mostRows && !isTooMuch);
    },
    held() {
      if (isTooMuch) throw describeTooMuch(rows.length, what);
      return readWholeNumbers({ columns, rows });
    },
  };
}

function findRoom(): number {
  return getHeapStatistics().heap_size_limit / HEAP_PARTS;
}

function describeTooMuch(count: number, what: HoldOptions['what']): ConfigError {
  return new ConfigError(
    `the result is too large for ${what}, which has to be in memory as a whole: it has more than ${formatCountOf(count, 'row')}`,
    {
      code: 'query_failed',
      hint: 'Nothing was printed. --format csv, json, ndjson and markdown write the rows as they are read, however many there are (without --json). Or select less, e.g. with LIMIT.',
    },
  );
}
