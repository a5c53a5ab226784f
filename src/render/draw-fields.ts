import type { DiscoveredField } from '../model/discover-report.ts';
import { formatCount, formatCountOf } from '../text/format-count.ts';
import { toSafeCell } from './safe-text.ts';
import type { TableColumn } from './table.ts';
import { drawTable, drawTableWithin, measureTable } from './table.ts';

const MOST_FIELDS = 200;
/** The least width at which examples are useful. */
const LEAST_EXAMPLES = 16;

interface FieldColumn extends TableColumn {
  readonly cell: (field: DiscoveredField) => string;
}

const FIELD: FieldColumn = { title: 'FIELD', cell: ({ field }) => toSafeCell(field) };
const COLUMN: FieldColumn = { title: 'COLUMN', cell: ({ column }) => toSafeCell(column) };
const SEEN: FieldColumn = { title: 'SEEN', cell: ({ seen }) => seen.join(', ') };
const EXAMPLES: FieldColumn = { title: 'EXAMPLES', cell: describeExamples };
const COUNTS: readonly FieldColumn[] = [
  { title: 'TYPE', cell: ({ type }) => type },
  { title: 'NULL', align: 'right', cell: describeNulls },
  {
    title: 'DISTINCT',
    align: 'right',
    cell: ({ distinct, isLeast }) => `${isLeast ? '>' : ''}${formatCount(distinct)}`,
  },
];

/** The fields as a table; on a narrow terminal, columns that can be guessed from the rest go first. */
export function drawFields(fields: readonly DiscoveredField[], columns: number | undefined): string {
  const shown = fields.slice(0, MOST_FIELDS);
  const more = fields.length - shown.length;
  const table = drawColumns(shown, columns);
  return more === 0 ? table : `${table}\nand ${formatCountOf(more, 'more field')} (--json has them all)`;
}

function drawColumns(fields: readonly DiscoveredField[], columns: number | undefined): string {
  const hasExamples = fields.some(({ examples, isHashed }) => examples.length > 0 || isHashed);
  const last = hasExamples ? [EXAMPLES] : [];
  const choices = [
    [FIELD, COLUMN, ...COUNTS, SEEN, ...last],
    [FIELD, COLUMN, ...COUNTS, ...last],
    [FIELD, ...COUNTS, ...last],
  ];
  const rowsOf = (chosen: readonly FieldColumn[]) =>
    fields.map((field) => chosen.map(({ cell }) => cell(field)));
  const [all = []] = choices;
  if (columns === undefined) return drawTable(all, rowsOf(all));
  const fitting = choices.find((chosen) => measureLeast(chosen, rowsOf(chosen)) <= columns) ?? [
    FIELD,
    ...COUNTS,
  ];
  return drawTableWithin(fitting, rowsOf(fitting), columns);
}

/** Width of a table with its examples cut to the minimum. */
function measureLeast(chosen: readonly FieldColumn[], rows: readonly (readonly string[])[]): number {
  const at = chosen.indexOf(EXAMPLES);
  return measureTable(
    chosen,
    rows.map((row) => row.map((cell, i) => (i === at ? cell.slice(0, LEAST_EXAMPLES) : cell))),
  );
}

function describeNulls({ filled, nulls, missing }: DiscoveredField): string {
  const empty = nulls + missing;
  if (empty === 0) return '';
  const percent = (100 * empty) / (filled + empty);
  return percent < 1 ? '<1%' : `${Math.floor(percent)}%`;
}

function describeExamples({ examples, isHashed }: DiscoveredField): string {
  if (isHashed) return '(hashed)';
  return examples.map((text) => toSafeCell(unquote(text))).join(', ');
}

// The type column says what is text; quotes would only take room.
function unquote(text: string): string {
  if (!text.startsWith('"')) return text;
  try {
    return JSON.parse(text) as string;
  } catch {
    return text.slice(1);
  }
}
