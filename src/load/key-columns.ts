import { StreamConfigError } from '../model/errors.ts';
import type { Stream } from '../model/stream.ts';
import { companionPath, toFieldName } from '../schema/field-paths.ts';
import { namesField } from '../schema/field-rules.ts';
import { pathKey } from '../schema/name-columns.ts';
import type { ColumnPlan } from '../schema/resolve-columns.ts';

/**
 * Adds companions to a key: values that a column cannot hold are in its companion and are part of the key as well.
 * Each column is followed by its companion, if any.
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
  // A companion named in the key is not a separate field if its column is there as well.
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
export function storedNames(columns: readonly Pick<ColumnPlan, 'name' | 'type'>[]): readonly string[] {
  return columns.filter(({ type }) => type !== 'NULL').map(({ name }) => name);
}

export function findColumn(field: string, columns: readonly ColumnPlan[]): ColumnPlan | undefined {
  return (
    columns.find(({ path }) => path.join('.') === field || pathKey(path) === field) ??
    columns.find(({ name }) => name === field) ??
    columns.find(({ path, companion }) => !companion && namesField(field, path.map(toFieldName)))
  );
}

/** Column of a field given by a user: by its dotted path or by the column's name. */
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
      hint: `The table is unchanged. Fields of this stream: ${known.slice(0, 30).join(', ') || 'none'}.`,
      context: { stream: stream.name },
    },
  );
}
