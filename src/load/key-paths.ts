import type { LearnedColumn, Stream } from '../model/stream.ts';
import { companionSource, toFieldName } from '../schema/field-paths.ts';
import { namesField } from '../schema/field-rules.ts';
import { pathKey } from '../schema/name-columns.ts';
import { type FieldNode, type FieldTree, findNode } from '../schema/observe-fields.ts';

/**
 * Paths of the fields of a configured key. Fields that no record fills are left out: then the config is wrong, not
 * the records.
 */
export function findKeyPaths(
  { key }: Pick<Stream, 'key'>,
  tree: FieldTree,
  learned: readonly LearnedColumn[],
): readonly (readonly string[])[] {
  if (key.kind !== 'fields') return [];
  return key.fields.flatMap((field) => {
    const known = learned.find(({ path, name }) => path.join('.') === field || name === field)?.path;
    const path = known === undefined ? findPath(tree.root, field) : (companionSource(known) ?? known);
    return path !== undefined && isEverFilled(tree, path) ? [path] : [];
  });
}

/** Whether every record seen has a value at a path. */
export function isFilledEverywhere({ root, records }: FieldTree, path: readonly string[]): boolean {
  return findNode(root, path)?.filled === records;
}

function isEverFilled({ root }: FieldTree, path: readonly string[]): boolean {
  return (findNode(root, path)?.filled ?? 0) > 0;
}

function findPath(root: FieldNode, field: string): readonly string[] | undefined {
  const nodes = listNodes(root);
  const exact = nodes.find(({ path }) => path.join('.') === field || pathKey(path) === field);
  return (exact ?? nodes.find(({ path }) => namesField(field, path.map(toFieldName))))?.path;
}

function listNodes(node: FieldNode): readonly FieldNode[] {
  return [...node.children.values()].flatMap((child) => [child, ...listNodes(child)]);
}
