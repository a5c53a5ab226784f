import type { SeenElements } from '../run/scan.ts';
import { findNode, type FieldTree } from '../schema/observe-fields.ts';
import type { ColumnPlan } from '../schema/resolve-columns.ts';

/** What the arrays of all records hold, by column; undefined if those of some were not looked at. */
export function listSeenElements(
  { root, records, inArrays }: FieldTree,
  columns: readonly ColumnPlan[],
): SeenElements | undefined {
  if (inArrays.records !== records) return undefined;
  const byColumn = new Map(
    columns.flatMap(({ path, name, companion }) => {
      const node = companion ? undefined : findNode(root, path);
      const fields = node && inArrays.byField.get(node);
      return fields === undefined ? [] : [[name, fields] as const];
    }),
  );
  return { records, byColumn };
}
