import type { SchemaDiff, ShownColumn, StreamDiff, StreamSchema } from '../model/schema-report.ts';
import { drawFittingTable } from './fitting-table.ts';
import { formatCountOf } from '../text/format-count.ts';
import { formatMoment } from '../text/format-moment.ts';
import { toSafeCell, toSafeLine } from './safe-text.ts';
import { wrapText } from './wrap-text.ts';

/** Learned columns, one table per stream. */
export function renderSchemas(schemas: readonly StreamSchema[], columns: number | undefined): string {
  return schemas.map((schema) => renderSchema(schema, columns)).join('\n\n');
}

function renderSchema(
  { stream, modes, file, description, columns: shown }: StreamSchema,
  columns: number | undefined,
): string {
  const mode =
    modes.columns === modes.types ? modes.columns : `columns ${modes.columns}, types ${modes.types}`;
  const head = `${stream}: contract ${mode}${file === undefined ? '' : `, ${toSafeLine(file)}`}`;
  if (shown.length === 0)
    return `${head}\nNothing has been learned yet; run: sluice sync --streams ${stream}`;
  const isDescribed = shown.some((column) => describeNotes(column) !== '');
  const table = drawFittingTable(
    [
      { title: 'COLUMN' },
      { title: 'TYPE' },
      { title: 'FIELD', dropAt: 2 },
      { title: 'SINCE', dropAt: 1 },
      { title: 'NOTE', dropAt: 3 },
      ...(isDescribed ? [{ title: 'DESCRIPTION', dropAt: 4 }] : []),
    ],
    shown.map((column) => [
      toSafeCell(column.name),
      column.type === 'NULL' ? '-' : column.type,
      toSafeCell(column.field),
      toSafeCell(column.since ?? '-'),
      toSafeCell(describeColumn(column)),
      ...(isDescribed ? [toSafeCell(describeNotes(column))] : []),
    ]),
    columns,
  );
  const about = description === undefined ? '' : `${wrapText(toSafeLine(description), columns)}\n`;
  return `${wrapText(head, columns)}\n${about}${table}`;
}

function describeNotes({ description, unit }: ShownColumn): string {
  if (unit === undefined) return description ?? '';
  return description === undefined ? `in ${unit}` : `${description} (${unit})`;
}

function describeColumn({ type, rule, companionOf, absentSince }: ShownColumn): string {
  return [
    type === 'NULL' ? 'only nulls so far' : '',
    companionOf === undefined ? '' : `what ${companionOf} cannot hold`,
    rule === undefined ? '' : rule === 'hash' ? 'hashed' : 'type from config',
    absentSince === undefined ? '' : `no record has it since ${absentSince}`,
  ]
    .filter((part) => part !== '')
    .join(', ');
}

/** Differences for people. */
export function renderDiff(diff: SchemaDiff, since: string | undefined, columns: number | undefined): string {
  if (since !== undefined) return renderChanges(diff, since, columns);
  if (diff.streams.length === 0)
    return 'There is no contract file. `sluice schema export --output contracts/` writes what was learned.';
  return diff.streams.map((stream) => renderStreamDiff(stream, columns)).join('\n\n');
}

function renderStreamDiff({ stream, file, differences }: StreamDiff, columns: number | undefined): string {
  const head = `${stream} (${toSafeLine(file)})`;
  if (differences.length === 0) return `${head}: the file matches what was learned`;
  const table = drawFittingTable(
    [{ title: 'FIELD' }, { title: 'IN THE FILE' }, { title: 'LEARNED' }],
    differences.map(({ field, kind, fileType, learnedType }) => [
      toSafeCell(field),
      kind === 'not-in-file' ? 'no' : (fileType ?? 'any type'),
      kind === 'not-learned' ? 'no' : (learnedType ?? '-'),
    ]),
    columns,
  );
  return `${head}:\n${table}`;
}

function renderChanges({ changes }: SchemaDiff, since: string, columns: number | undefined): string {
  if (changes.length === 0) return `No column has changed since run ${toSafeLine(since)}.`;
  return drawFittingTable(
    [
      { title: 'STREAM' },
      { title: 'COLUMN' },
      { title: 'CHANGE' },
      { title: 'FROM' },
      { title: 'TO' },
      { title: 'RUN', dropAt: 2 },
      { title: 'WHEN', dropAt: 1 },
    ],
    changes.map(({ stream, column, change, fromType, toType, runId, changedAt }) => [
      toSafeCell(stream),
      toSafeCell(column),
      change,
      fromType ?? '-',
      toType ?? '-',
      toSafeCell(runId),
      formatMoment(changedAt),
    ]),
    columns,
  );
}

/** One sentence about a comparison. */
export function summarizeDiff({ streams, changes }: SchemaDiff, since: string | undefined): string {
  if (since !== undefined)
    return changes.length === 0
      ? `no column has changed since run ${since}`
      : `${formatCountOf(changes.length, 'change')} since run ${since}`;
  const count = streams.reduce((sum, { differences }) => sum + differences.length, 0);
  if (streams.length === 0) return 'there is no contract file';
  return count === 0
    ? `${formatCountOf(streams.length, 'contract file')} as learned`
    : `${formatCountOf(count, 'difference')} between contract files and what was learned`;
}
