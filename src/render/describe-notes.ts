import type { SchemaChange, StreamReport } from '../model/run-report.ts';
import { formatCountOf } from '../text/format-count.ts';
import { toSafeLine } from './safe-text.ts';

const MOST_COLUMNS = 6;

/** Notes on a stream in addition to its counts, each without a full stop. */
export function describeNotes(report: StreamReport): readonly string[] {
  const { rows, rescans, schemaChanges, status } = report;
  return [
    status === 'fresh' ? 'synced recently, no request sent (--force syncs it anyway)' : '',
    status === 'unavailable' ? 'the API has no such endpoint (404)' : '',
    status === 'not-run' ? 'not reached' : '',
    ...(status === 'complete' ? report.reasons.map(toSafeLine) : []),
    rows.deleted > 0 ? `${formatCountOf(rows.deleted, 'row')} deleted` : '',
    rows.quarantined > 0 ? `${formatCountOf(rows.quarantined, 'record')} quarantined` : '',
    rescans > 0 ? `restarted ${formatCountOf(rescans, 'time')}, the data moved` : '',
    isNewTable(report) ? describeLearned(schemaChanges) : describeSchemaChanges(schemaChanges),
  ].filter((note) => note !== '');
}

function isNewTable({ rows, rowsInTable }: StreamReport): boolean {
  return rows.inserted > 0 && rows.inserted === rowsInTable;
}

// Every column of a new table is new: their number says enough.
function describeLearned(changes: readonly SchemaChange[]): string {
  return changes.length === 0 ? '' : `${formatCountOf(changes.length, 'column')} learned`;
}

function describeSchemaChanges(changes: readonly SchemaChange[]): string {
  const widened = changes.filter(({ change }) => change !== 'added').map(describeChange);
  const added = changes.filter(({ change }) => change === 'added').map(({ column }) => toSafeLine(column));
  const shown = added.slice(0, MOST_COLUMNS).join(', ');
  const more = added.length > MOST_COLUMNS ? ` and ${added.length - MOST_COLUMNS} more` : '';
  const noun = added.length === 1 ? 'new column' : 'new columns';
  return [...(added.length > 0 ? [`${noun}: ${shown}${more}`] : []), ...widened].join('; ');
}

/** One change of a column, in words. */
export function describeChange({ column, change, fromType, toType }: SchemaChange): string {
  if (change === 'added') return `${toSafeLine(column)} is new (${toType})`;
  if (change === 'removed') return `${toSafeLine(column)} was removed`;
  if (change === 'replaced' && fromType === toType) return `${toSafeLine(column)} was cleared`;
  return `${toSafeLine(column)} is now ${toType}${fromType === undefined ? '' : ` (was ${fromType})`}`;
}
