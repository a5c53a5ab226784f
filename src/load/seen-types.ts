import type { LearnedColumn } from '../model/stream.ts';
import type { JsonType } from '../model/schema.ts';
import { Kind } from '../schema/field-kinds.ts';
import { listJsonTypes, uniteJsonTypes } from '../schema/json-types.ts';
import { pathKey } from '../schema/name-columns.ts';
import { type FieldTree, findNode } from '../schema/observe-fields.ts';
import type { ColumnPlan } from '../schema/resolve-columns.ts';

/**
 * The JSON types seen in each column's field, by column name, but for objects whose members have columns. For columns from before they were recorded, only a full
 * scan shows them.
 */
export function listSeenTypes(
  columns: readonly ColumnPlan[],
  tree: FieldTree,
  learned: readonly LearnedColumn[],
  isWhole: boolean,
): ReadonlyMap<string, readonly JsonType[]> {
  const known = new Map(learned.map((column) => [pathKey(column.path), column]));
  return new Map(
    columns.flatMap(({ name, path, companion, isBesideMembers }): [string, readonly JsonType[]][] => {
      const before = known.get(pathKey(path));
      const members = isBesideMembers === true ? Kind.object : 0;
      const seen = listJsonTypes((findNode(tree.root, path)?.kinds ?? 0) & ~members);
      const isUnknown = before !== undefined && before.type !== 'NULL' && before.jsonTypes === undefined;
      if (companion || (isUnknown && !isWhole)) return [];
      return [[name, uniteJsonTypes(before?.jsonTypes ?? [], seen)]];
    }),
  );
}
