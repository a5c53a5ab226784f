import type { TableColumn } from './table.ts';
import { drawTable, measureTable } from './table.ts';
import { wrapText } from './wrap-text.ts';

/** A column that may be left out on a narrow terminal: the lowest `dropAt` goes first. */
export interface FittingColumn extends TableColumn {
  readonly dropAt?: number;
}

type Rows = readonly (readonly string[])[];

/**
 * Draws a table that fits a terminal without cutting a cell. The least useful columns are left out; if the
 * rest is still too wide, each row becomes a few lines with every column.
 */
export function drawFittingTable(
  columns: readonly FittingColumn[],
  rows: Rows,
  maxWidth: number | undefined,
): string {
  if (maxWidth === undefined) return drawTable(columns, rows);
  let kept = columns.map((_, i) => i);
  while (kept.length > 0) {
    const shown = pick(columns, kept);
    const cells = rows.map((row) => pick(row, kept));
    if (measureTable(shown, cells) <= maxWidth) return drawTable(shown, cells);
    const dropped = findFirstToDrop(columns, kept);
    if (dropped === undefined) break;
    kept = kept.filter((i) => i !== dropped);
  }
  return rows.map((row) => drawRecord(columns, row, maxWidth)).join('\n');
}

function pick<T>(cells: readonly T[], kept: readonly number[]): readonly T[] {
  return kept.flatMap((i) => cells[i] ?? []);
}

function findFirstToDrop(columns: readonly FittingColumn[], kept: readonly number[]): number | undefined {
  return kept
    .filter((i) => columns[i]?.dropAt !== undefined)
    .toSorted((a, b) => (columns[a]?.dropAt ?? 0) - (columns[b]?.dropAt ?? 0))[0];
}

function drawRecord(columns: readonly TableColumn[], row: readonly string[], maxWidth: number): string {
  const [name = '', ...values] = row;
  const parts = values.flatMap((value, i) =>
    value === '' || value === '-' ? [] : [`${(columns[i + 1]?.title ?? '').toLowerCase()} ${value}`],
  );
  return wrapText(`${name}\n  ${parts.join('; ')}`, maxWidth, 2).trimEnd();
}
