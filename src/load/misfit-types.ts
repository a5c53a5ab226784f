import { escapeForTerminal } from '../text/redact.ts';
import type { Stream } from '../model/stream.ts';
import { companionSource, toFieldName } from '../schema/field-paths.ts';
import { namesField } from '../schema/field-rules.ts';
import { pathKey } from '../schema/name-columns.ts';
import type { ColumnPlan } from '../schema/resolve-columns.ts';
import type { Database } from '../warehouse/database.ts';
import { quoteIdentifier } from '../warehouse/identifiers.ts';
import { INCOMING } from '../warehouse/incoming.ts';

/**
 * Reports columns that get a companion with this scan: readers of the column alone miss values from now on. Reported
 * once, as the companion then exists.
 */
function describeCompanions(stream: Stream, columns: readonly ColumnPlan[]): readonly string[] {
  return columns.flatMap(({ path, name: beside, companion, existingType }) => {
    const source = companionSource(path);
    if (!companion || existingType !== undefined || source === undefined) return [];
    const column = columns.find((one) => !one.companion && pathKey(one.path) === pathKey(source));
    // If config set the type, another message says so.
    if (column === undefined || column.forcedType !== undefined) return [];
    const field = escapeForTerminal(source.map(toFieldName).join('.'));
    return [
      `${field} has values that its column, a ${column.type}, cannot hold: they are in ${beside}. For one column of text, set type: VARCHAR for it in streams.${stream.name}.columns and run: sluice rebuild ${stream.name}`,
    ];
  });
}

/** Reports columns with values that do not fit and are in another column. */
export async function describeMisfits(
  database: Database,
  stream: Stream,
  columns: readonly ColumnPlan[],
): Promise<readonly string[]> {
  const typed = Object.entries(stream.columns).flatMap(([field, { kind }]) =>
    kind === 'type' ? [field] : [],
  );
  const said = [...describeCompanions(stream, columns)];
  if (typed.length === 0) return said;
  for (const { path, name: beside } of columns.filter(({ companion }) => companion)) {
    const source = companionSource(path);
    const column = source && columns.find((one) => !one.companion && pathKey(one.path) === pathKey(source));
    const names = source?.map(toFieldName) ?? [];
    if (column === undefined || !typed.some((field) => namesField(field, names))) continue;
    const [row] = await database.all(
      `SELECT count(${quoteIdentifier(column.name)}) AS fit, count(${quoteIdentifier(beside)}) AS unfit FROM ${INCOMING}`,
    );
    const [fit, unfit] = [Number(row?.['fit']), Number(row?.['unfit'])];
    if (unfit === 0) continue;
    const how = fit === 0 ? 'no value' : `not every value (${unfit} of ${fit + unfit} are not)`;
    const field = escapeForTerminal(names.join('.'));
    said.push(
      `streams.${stream.name}.columns makes ${field} a ${column.type}, but ${how} is one; the others are in ${beside}`,
    );
  }
  return said;
}
