import type { ColumnRule, ForcedType } from '../model/schema.ts';
import type { LearnedColumn } from '../model/stream.ts';
import { companionSource, toFieldName } from './field-paths.ts';
import { namesField } from './field-rules.ts';
import { pathKey } from './name-columns.ts';
import type { FieldNode } from './observe-fields.ts';

/** A field with a type of config's. */
export interface ForcedField {
  readonly path: readonly string[];
  readonly type: ForcedType;
  /** Chosen by the values, since decimals are to be exact. */
  readonly isExact?: true;
}

/** The fields that config's `type` rules are for. */
export interface FoundTypes {
  readonly fields: readonly ForcedField[];
  /** Names in config that no field and no column has. */
  readonly unmatched: readonly string[];
}

/** Finds the fields that config gives a type, among those of a scan and the columns learned before. */
export function findForcedTypes(
  rules: Readonly<Record<string, ColumnRule>>,
  root: FieldNode,
  learned: readonly LearnedColumn[],
): FoundTypes {
  const wanted = Object.entries(rules).flatMap(([field, rule]) =>
    rule.kind === 'type' ? [{ field, type: rule.type }] : [],
  );
  const fields: ForcedField[] = [];
  const matched = new Set<string>();
  if (wanted.length === 0) return { fields, unmatched: [] };
  const columnNames = new Map(learned.map(({ path, name }) => [pathKey(path), name]));
  for (const path of listPaths(root, learned)) {
    const names = path.map(toFieldName);
    const column = columnNames.get(pathKey(path));
    const found = wanted.filter(({ field }) => field === column || namesField(field, names));
    for (const { field } of found) matched.add(field);
    // The field's own name says more than another spelling of it.
    const rule = found.find(({ field }) => field === names.join('.')) ?? found[0];
    if (rule !== undefined) fields.push({ path, type: rule.type });
  }
  return { fields, unmatched: wanted.map(({ field }) => field).filter((field) => !matched.has(field)) };
}

function listPaths(root: FieldNode, learned: readonly LearnedColumn[]): readonly (readonly string[])[] {
  const paths = new Map<string, readonly string[]>();
  const visit = (node: FieldNode): void => {
    for (const child of node.children.values()) {
      paths.set(pathKey(child.path), child.path);
      visit(child);
    }
  };
  visit(root);
  for (const { path } of learned) if (companionSource(path) === undefined) paths.set(pathKey(path), path);
  return [...paths.values()];
}
