import Table from 'cli-table3';
import { measureWidth } from './measure-width.ts';

/** A column of a table for people. */
export interface TableColumn {
  readonly title: string;
  readonly align?: 'left' | 'right';
}

/** Draws a table without borders: titles, then rows, with two spaces between columns. */
export function drawTable(columns: readonly TableColumn[], rows: readonly (readonly string[])[]): string {
  return drawWith(columns, rows, undefined);
}

/** Draws a table at most `maxWidth` wide: the widest columns shrink, and cut cells end in `…`. */
export function drawTableWithin(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  maxWidth: number | undefined,
): string {
  return drawWith(columns, rows, maxWidth === undefined ? undefined : fitWidths(columns, rows, maxWidth));
}

/** How many columns, from the left, fit into a width and stay readable. */
export function countFittingColumns(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  maxWidth: number,
): number {
  let width = -GAP;
  const least = measureColumns(columns, rows).map((natural) => Math.min(natural, LEAST_READABLE));
  const overflow = least.findIndex((needed) => {
    width += needed + GAP;
    return width > maxWidth;
  });
  return overflow < 0 ? columns.length : Math.max(1, overflow);
}

/** Width of a table with no cell cut. */
export function measureTable(columns: readonly TableColumn[], rows: readonly (readonly string[])[]): number {
  return measureColumns(columns, rows).reduce((sum, width) => sum + width + GAP, -GAP);
}

/** Width of the widest line. */
export function measureBlock(text: string): number {
  return text.split('\n').reduce((widest, line) => Math.max(widest, measureWidth(line)), 0);
}

const GAP = 2;
const LEAST_READABLE = 12;

function drawWith(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  widths: readonly number[] | undefined,
): string {
  const natural = widths ?? measureColumns(columns, rows);
  // A heading padded to its column's width gives every chunk the same columns.
  const head = columns.map((column, i) => padTitle(column, natural[i] ?? 0));
  const lines: string[] = [];
  for (let start = 0; start === 0 || start < rows.length; start += CHUNK) {
    const drawn = drawChunk(columns, head, rows.slice(start, start + CHUNK), widths);
    for (const line of start === 0 ? drawn : drawn.slice(1)) lines.push(line.trimEnd());
  }
  return lines.join('\n');
}

function padTitle({ title, align }: TableColumn, width: number): string {
  const padding = ' '.repeat(Math.max(0, width - measureWidth(title)));
  return align === 'right' ? padding + title : title + padding;
}

// cli-table3's layout gets disproportionately slow for long tables.
const CHUNK = 200;

function drawChunk(
  columns: readonly TableColumn[],
  head: readonly string[],
  rows: readonly (readonly string[])[],
  widths: readonly number[] | undefined,
): readonly string[] {
  const table = new Table({
    head: [...head],
    colAligns: columns.map(({ align = 'left' }) => align),
    // cli-table3 counts the padding into a column's width.
    ...(widths && { colWidths: widths.map((width) => width + GAP) }),
    chars: NO_FRAME,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': GAP },
    truncate: '…',
  });
  for (const row of rows) table.push([...row]);
  return table.toString().split('\n');
}

function fitWidths(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  maxWidth: number,
): readonly number[] {
  const widths = [...measureColumns(columns, rows)];
  const room = maxWidth - GAP * (columns.length - 1);
  let total = widths.reduce((sum, width) => sum + width, 0);
  while (total > room) {
    const widest = Math.max(...widths);
    if (widest <= 3) break;
    const index = widths.indexOf(widest);
    const next = Math.max(3, ...widths.filter((width) => width < widest));
    const cut = Math.max(1, Math.min(total - room, widest - next));
    widths[index] = widest - cut;
    total -= cut;
  }
  return widths;
}

function measureColumns(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
): readonly number[] {
  return columns.map(({ title }, i) =>
    rows.reduce(
      (widest, row) => Math.max(widest, measureWidth(row[i] ?? '')),
      Math.max(1, measureWidth(title)),
    ),
  );
}

const NO_FRAME = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '',
};
