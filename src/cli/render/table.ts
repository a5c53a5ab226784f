import Table from 'cli-table3';
import { measureWidth } from './measure-width.ts';

/** A column of a table for people. */
export interface TableColumn {
  readonly title: string;
  readonly align?: 'left' | 'right';
}

/** Draws a table without a frame: titles, then rows, two spaces between columns. */
export function drawTable(columns: readonly TableColumn[], rows: readonly (readonly string[])[]): string {
  return drawWith(columns, rows, undefined);
}

/** Draws a table that is at most `maxWidth` wide: the widest columns give way, cut cells end in `…`. */
export function drawTableWithin(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  maxWidth: number | undefined,
): string {
  return drawWith(columns, rows, maxWidth === undefined ? undefined : fitWidths(columns, rows, maxWidth));
}

/** How many columns, from the left, fit into a width with enough of each to be read. */
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

/** Width of the widest line. */
export function measureBlock(text: string): number {
  return Math.max(...text.split('\n').map(measureWidth));
}

const GAP = 2;
const LEAST_READABLE = 12;

function drawWith(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  widths: readonly number[] | undefined,
): string {
  const table = new Table({
    head: columns.map(({ title }) => title),
    colAligns: columns.map(({ align = 'left' }) => align),
    // cli-table3 counts the padding into a column's width.
    ...(widths && { colWidths: widths.map((width) => width + GAP) }),
    chars: NO_FRAME,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': GAP },
    truncate: '…',
  });
  table.push(...rows.map((row) => [...row]));
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
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
