import type { QueryCell, QueryResult } from '../model/reports.ts';
import { isNumericType } from './query-cells.ts';
import type { QueryFormat } from './query-format-names.ts';
import { escapeJson, writeJson } from './write-json.ts';
import { toSafeCell } from './safe-text.ts';
import { countFittingColumns, drawTable, drawTableWithin } from './table.ts';
import { formatCountOf } from '../text/format-count.ts';
import { cutToWidth } from './measure-width.ts';

/** A format that needs no row to write another one; a table has the widths of all of them. */
export type RowFormatName = Exclude<QueryFormat, 'table'>;

/** How rows are written one by one: `begin`, the rows with `separator` between them, `end`. */
export interface RowFormat {
  readonly begin: string;
  readonly separator: string;
  readonly end: string;
  readonly writeRow: (row: readonly QueryCell[]) => string;
}

/** Writes rows in a format; `columns` is the width of the terminal, undefined if there is none. */
export function formatQueryResult(
  result: QueryResult,
  format: QueryFormat,
  columns: number | undefined,
): string {
  if (format === 'table') return writeTable(result, columns);
  const { begin, separator, end, writeRow } = createRowFormat(result.columns, format, columns !== undefined);
  return begin + result.rows.map(writeRow).join(separator) + end;
}

/** The same for rows that come one after the other. */
export function createRowFormat(
  columns: QueryResult['columns'],
  format: RowFormatName,
  isForTerminal: boolean,
): RowFormat {
  switch (format) {
    case 'csv':
      return createCsv(columns, isForTerminal);
    case 'json':
      return { begin: '[', separator: ',\n ', end: ']\n', writeRow: createObjectWriter(columns) };
    case 'ndjson': {
      const writeObject = createObjectWriter(columns);
      return { ...PLAIN, begin: '', writeRow: (row) => `${writeObject(row)}\n` };
    }
    case 'markdown':
      return createMarkdown(columns);
  }
}

const PLAIN = { separator: '', end: '' };

function writeTable({ columns, rows }: QueryResult, maxWidth: number | undefined): string {
  const titles = columns.map(({ name, type }) => ({
    title: toSafeCell(name),
    align: isNumericType(type) ? ('right' as const) : ('left' as const),
  }));
  const cells = rows.map((row) => row.map(writeTableCell));
  if (maxWidth === undefined) return `${drawTable(titles, cells)}\n`;
  const fitting = countFittingColumns(titles, cells, maxWidth);
  const shown = cells.map((row) => row.slice(0, fitting));
  const drawn = drawTableWithin(titles.slice(0, fitting), shown, maxWidth);
  const hidden = titles.slice(fitting).map(({ title }) => title);
  if (hidden.length === 0) return `${drawn}\n`;
  const note = `and ${formatCountOf(hidden.length, 'more column')}: ${hidden.join(', ')}`;
  return `${drawn}\n\n${cutToWidth(note, maxWidth, '…')}\n`;
}

function writeTableCell(cell: QueryCell): string {
  return cell === null ? 'NULL' : toSafeCell(String(cell));
}

// RFC 4180: CRLF after every record, quotes doubled. Empty text is quoted, to distinguish it from NULL.
function createCsv(columns: QueryResult['columns'], isForTerminal: boolean): RowFormat {
  const write = (cell: QueryCell) => {
    if (cell === null) return '';
    const text = isForTerminal ? toSafeCell(String(cell)) : String(cell);
    return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const writeRow = (record: readonly QueryCell[]) => `${record.map(write).join(',')}\r\n`;
  return { ...PLAIN, begin: writeRow(columns.map(({ name }) => name)), writeRow };
}

function createMarkdown(columns: QueryResult['columns']): RowFormat {
  // Text of the server must neither end its cell nor be shown as a picture, a link, HTML or emphasis.
  const write = (cell: QueryCell) => writeTableCell(cell).replaceAll(/[\\|<[*`]/g, '\\$&');
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`;
  const rule = columns.map(({ type }) => (isNumericType(type) ? '---:' : '---'));
  return {
    ...PLAIN,
    begin: line(columns.map(({ name }) => write(name))) + line(rule),
    writeRow: (row) => line(row.map(write)),
  };
}

/** Writes rows as JSON objects, each on one line, assembled as text: a number in a JSON value may exceed a double. */
function createObjectWriter(columns: QueryResult['columns']): RowFormat['writeRow'] {
  const names = distinguish(columns.map(({ name }) => name)).map(writeJson);
  const isNested = columns.map(({ type }) => NESTED_TYPE.test(type));
  return (row) => {
    const members = names.map((name, i) => {
      const cell = row[i] ?? null;
      return `${name}:${isNested[i] === true ? writeNested(cell) : writeJson(cell)}`;
    });
    return `{${members.join(',')}}`;
  };
}

// Cells of these types are JSON texts, written by the engine or its library.
const NESTED_TYPE = /^(?:JSON$|STRUCT\(|MAP\()|\]$/;

function writeNested(cell: QueryCell): string {
  if (typeof cell !== 'string') return writeJson(cell);
  try {
    JSON.parse(cell);
  } catch {
    return writeJson(cell);
  }
  // A line break in a JSON text is never part of a value.
  return escapeJson(cell.trim().replaceAll(/[\r\n\t]+/g, ' '));
}

// `select 1 as a, 2 as a` has two columns; as one object's members the second is a_2.
function distinguish(names: readonly string[]): readonly string[] {
  const taken = new Set<string>();
  // Continues counting for each name, so that a thousand columns with one name stay fast.
  const last = new Map<string, number>();
  return names.map((name) => {
    let unique = name;
    let i = last.get(name) ?? 1;
    while (taken.has(unique)) {
      i += 1;
      unique = `${name}_${i}`;
    }
    last.set(name, i);
    taken.add(unique);
    return unique;
  });
}
