import { cleanName } from '../dictionary/comment-text.ts';
import type { ElementFields } from '../schema/observe-fields.ts';
import { numberKinds } from '../schema/field-kinds.ts';
import { toFieldName } from '../schema/field-paths.ts';
import { nameColumns, pathKey } from '../schema/name-columns.ts';
import { findNode } from '../schema/observe-fields.ts';
import { resolveColumns } from '../schema/resolve-columns.ts';
import { listParentColumns } from './parent-columns.ts';
import type { Dialect, ElementColumn, View, ViewTable } from './view.ts';

/** The views of a table's arrays of objects: one row per element, one column per field of any of them. */
export function planElementViews(table: ViewTable, dialect: Dialect): readonly View[] {
  const views: View[] = [];
  for (const [column, seen] of table.elements) {
    if (!seen.hasObjects || table.columns.get(column) !== 'JSON') continue;
    const fields = planColumns(table, column, seen);
    views.push({
      schema: 'main',
      name: `${table.name}__${column}`,
      of: table.name,
      names: fields.map(({ name }) => name),
      about: `the elements of ${table.name}.${column}`,
      holds: [
        `One row per element of the array ${cleanName(column)} of ${cleanName(table.name)}, with the key of its row`,
        '_index is the place in the array, from 0',
      ],
      select: dialect.readElements(table, column, fields, seen),
    });
  }
  return views;
}

/** Columns with the types that a table would have for these fields, none of which is cast afterwards. */
function planColumns(table: ViewTable, column: string, seen: ElementFields): readonly ElementColumn[] {
  const columns = resolveColumns(seen.tree, [], () => false).filter(({ type }) => type !== 'NULL');
  const names = nameFields(
    table,
    column,
    columns.map(({ path }) => path),
  );
  return columns.map(({ path, type }) => {
    const kinds = findNode(seen.tree.root, path)?.kinds ?? 0;
    return {
      name: names.get(pathKey(path)) ?? '',
      path: path.map(toFieldName),
      type,
      mixesNumbers: type === 'VARCHAR' && (kinds & numberKinds) !== 0,
    };
  });
}

/**
 * A field whose name the parent's columns have already is named as if it was nested in the table. The NUL keeps it apart
 * from a field that is nested in one of that name.
 */
function nameFields(
  table: ViewTable,
  column: string,
  paths: readonly (readonly string[])[],
): ReadonlyMap<string, string> {
  const { before, after } = listParentColumns(table);
  const parents = [...before, '_index', ...after];
  const taken = new Map(parents.map((name) => [`parent ${name}`, name]));
  const isTaken = new Set(parents.map((name) => name.toLowerCase()));
  const plain = nameColumns(paths, new Map());
  const wanted = paths.map((path) => ({
    path,
    as: isTaken.has((plain.get(pathKey(path)) ?? '').toLowerCase()) ? [`${column}\u0000`, ...path] : path,
  }));
  const names = nameColumns(
    wanted.map(({ as }) => as),
    taken,
  );
  return new Map(wanted.map(({ path, as }) => [pathKey(path), names.get(pathKey(as)) ?? '']));
}
