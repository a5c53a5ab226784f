import { StreamConfigError } from '../../model/errors.ts';
import type { Stream } from '../../model/stream.ts';
import { companionPath, toFieldName } from '../../schema/field-paths.ts';
import { namesField } from '../../schema/field-rules.ts';
import { pathKey } from '../../schema/name-columns.ts';
import type { ColumnPlan } from '../../schema/resolve-columns.ts';

/**
 * A key by its fields: a value that its column does not hold is in the companion, and there it tells rows apart as
 * well. Each column of a field that has a companion is followed by it.
 */
export function withCompanions(key: readonly string[], columns: readonly ColumnPlan[]): readonly string[] {
  return [...new Set(groupByField(key, columns).flat())];
}

/** The columns of a key that hold the values of each of its fields. */
export function groupByField(
  key: readonly string[],
  columns: readonly ColumnPlan[],
): readonly (readonly string[])[] {
  const groups = key.map((name) => {
    const column = columns.find((one) => one.name === name);
    const companion = column && findCompanion(column, columns);
    return companion === undefined ? [name] : [name, companion.name];
  });
  // A companion that the key names by itself is no field of its own beside its column.
  const beside = new Set(groups.flatMap((group) => group.slice(1)));
  return groups.filter(([name = '']) => !beside.has(name));
}

/** The stored column that takes the values which a column does not hold. */
export function findCompanion(
  { path }: Pick<ColumnPlan, 'path'>,
  columns: readonly ColumnPlan[],
): ColumnPlan | undefined {
  const beside = pathKey(companionPath(path));
  return columns.find(({ companion, path: other }) => companion && pathKey(other) === beside);
}

/** Names of the columns that a table has, or is given. */
export function storedNames(columns: readonly ColumnPlan[]): readonly string[] {
  return columns.filter(({ type }) => type !== 'NULL').map(({ name }) => name);
}

export function findColumn(field: string, columns: readonly ColumnPlan[]): ColumnPlan | undefined {
  return (
    columns.find(({ path }) => path.join('.') === field || pathKey(path) === field) ??
    columns.find(({ name }) => name === field) ??
    columns.find(({ path, companion }) => !companion && namesField(field, path.map(toFieldName)))
  );
}

/** Column of a field a user named: by its path with dots, or by the column's own name. */
export function resolveField(
  stream: Stream,
  what: 'key' | 'cursor',
  field: string,
  columns: readonly ColumnPlan[],
): string {
  const found = findColumn(field, columns);
  if (found !== undefined && found.type !== 'NULL') return found.name;
  const known = columns
    .filter(({ type, companion }) => type !== 'NULL' && !companion)
    .map(({ path }) => path.join('.'));
  throw new StreamConfigError(
    `streams.${stream.name}.${what} names "${field}", which ${found === undefined ? 'no record has' : 'is null in every record'}`,
    {
      code: 'config_invalid',
      hint: `The table is as it was. Fields of this stream: ${known.slice(0, 30).join(', ') || 'none'}.`,
      context: { stream: stream.name },
    },
  );
}
