import type { ColumnType } from '../model/schema.ts';
import { Kind, stringKinds } from '../schema/field-kinds.ts';
import { toFieldName } from '../schema/field-paths.ts';
import { type FieldNode, type FieldTree, findNode } from '../schema/observe-fields.ts';
import type { ColumnPlan } from '../schema/resolve-columns.ts';
import { quoteIdentifier, quoteLiteral } from './identifiers.ts';

/**
 * SQL that reads a stage with the engine's own reader, four times as fast as a projection; undefined if the fields
 * seen do not guarantee the same rows. It selects `_sluice_position`, which is null for a record that the engine must
 * not read, and the columns.
 *
 * @param constants fields that no record has, with their values
 */
export function selectStage(
  { file, lineLimit }: { readonly file: string; readonly lineLimit: number },
  tree: FieldTree,
  columns: readonly ColumnPlan[],
  constants: Readonly<Record<string, unknown>> = {},
): string | undefined {
  const readAs = new Map<FieldNode, string>();
  const cells: string[] = [];
  for (const { path, name, type, takes, companion, forcedType } of columns) {
    // Only a projection can split values between two columns or convert them.
    if (companion || forcedType !== undefined) return undefined;
    const node = findNode(tree.root, path);
    const kinds = (node?.kinds ?? 0) & ~Kind.null;
    if (node === undefined || kinds === 0) {
      cells.push(`NULL::${type === 'NULL' ? 'VARCHAR' : type} AS ${quoteIdentifier(name)}`);
      continue;
    }
    const [field = ''] = path.map(toFieldName);
    if (path.length === 1 && Object.hasOwn(constants, field)) {
      const constant = (kinds & ~takes) === 0 ? writeConstant(type, constants[field]) : undefined;
      if (constant === undefined) return undefined;
      cells.push(`${constant} AS ${quoteIdentifier(name)}`);
      continue;
    }
    const reader = (kinds & ~takes) === 0 ? chooseReader(type, kinds) : undefined;
    if (reader === undefined) return undefined;
    readAs.set(node, reader);
    const cell = ['r', ...path.map((part) => quoteIdentifier(toFieldName(part)))].join('.');
    cells.push(`${reader === type ? cell : `CAST(${cell} AS ${type})`} AS ${quoteIdentifier(name)}`);
  }
  const record = describeObject(tree.root, readAs);
  if (record === undefined) return undefined;
  const position = 'CASE WHEN r IS NOT NULL THEN i END AS _sluice_position';
  return `SELECT ${[position, ...cells].join(', ')} FROM read_json(${quoteLiteral(file)},
    format = 'newline_delimited', maximum_object_size = ${lineLimit}, columns = {i: 'BIGINT', r: ${quoteLiteral(record)}})`;
}

/** SQL for a constant value; undefined if its text could differ from a projection's. */
function writeConstant(type: ColumnType, value: unknown): string | undefined {
  const isText = typeof value === 'string' && !value.includes('\u0000') && value.isWellFormed();
  const isKnown =
    (isText && (type === 'VARCHAR' || type === 'DATE')) ||
    (type === 'BOOLEAN' && typeof value === 'boolean') ||
    (type === 'BIGINT' && Number.isSafeInteger(value));
  return isKnown ? `CAST(${quoteLiteral(String(value))} AS ${type})` : undefined;
}

/** The type as which a column's values are read before a cast; undefined if a cast could change them. */
function chooseReader(type: ColumnType, kinds: number): string | undefined {
  switch (type) {
    case 'BOOLEAN':
    case 'BIGINT':
    case 'DOUBLE':
      return type;
    case 'JSON':
      // The engine may format objects, numbers and strings differently.
      return kinds === Kind.array ? type : undefined;
    case 'VARCHAR':
    case 'DATE':
    case 'TIMESTAMP':
    case 'TIMESTAMPTZ':
      // The cast rejects time formats it does not know; it never reads them as a different time.
      return (kinds & ~stringKinds) === 0 ? 'VARCHAR' : undefined;
    default:
      return undefined;
  }
}

/** The STRUCT type of the members that have columns; undefined if a name would be ambiguous to the engine. */
function describeObject(node: FieldNode, readAs: ReadonlyMap<FieldNode, string>): string | undefined {
  const names = new Set<string>();
  const members: string[] = [];
  for (const [name, child] of node.children) {
    // The engine compares names case-insensitively.
    const folded = name.toLowerCase();
    if (name === '' || name.includes('\u0000') || names.has(folded) || !name.isWellFormed()) return undefined;
    names.add(folded);
    const own = readAs.get(child);
    if (own === undefined && !hasColumns(child, readAs)) continue;
    if (own === undefined && (child.kinds & ~(Kind.object | Kind.null)) !== 0) return undefined;
    const type = own ?? describeObject(child, readAs);
    if (type === undefined) return undefined;
    members.push(`${quoteIdentifier(name)} ${type}`);
  }
  return members.length === 0 ? undefined : `STRUCT(${members.join(', ')})`;
}

function hasColumns(node: FieldNode, readAs: ReadonlyMap<FieldNode, string>): boolean {
  return [...node.children.values()].some((child) => readAs.has(child) || hasColumns(child, readAs));
}
