import { canonicalText } from '../json/fingerprint.ts';
import { toFieldName } from '../schema/field-paths.ts';
import {
  type FieldNode,
  type FieldTree,
  createFieldTree,
  isRecordObject,
  observeRecord,
} from '../schema/observe-fields.ts';
import { type ColumnPlan, resolveColumns } from '../schema/resolve-columns.ts';

type Row = Readonly<Record<string, unknown>>;

/** Records of a stream, with the columns they would become. */
export interface Sample {
  readonly rows: readonly Row[];
  readonly tree: FieldTree;
  readonly columns: readonly SampledColumn[];
  /** Records that are not objects and so cannot be rows. */
  readonly notObjects: number;
}

export interface SampledColumn extends ColumnPlan {
  readonly node: FieldNode;
  /** The field as config names it. */
  readonly field: string;
}

/** Observes records as a first sync would. */
export function takeSample(records: readonly unknown[]): Sample {
  const tree = createFieldTree();
  const rows = records.filter(isRecordObject);
  for (const row of rows) observeRecord(tree, row);
  const columns = resolveColumns(tree, [], () => false).flatMap((column) => {
    const node = findNode(tree.root, column.path);
    return node === undefined || column.companion ? [] : [{ ...column, node, field: nameField(column.path) }];
  });
  return { rows, tree, columns, notObjects: records.length - rows.length };
}

/** A field's value in a row, or undefined where the row lacks it. */
export function readField(row: Row, path: readonly string[]): unknown {
  let value: unknown = row;
  for (const part of path) {
    const name = toFieldName(part);
    if (!isRecordObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

/** A number for each row: equal where the column's values are equal. */
export function codeValues(rows: readonly Row[], path: readonly string[]): readonly number[] {
  const codes = new Map<string, number>();
  return rows.map((row) => {
    const text = canonicalText(readField(row, path) ?? null);
    const known = codes.get(text);
    if (known !== undefined) return known;
    codes.set(text, codes.size);
    return codes.size - 1;
  });
}

function nameField(path: readonly string[]): string {
  return path.map(toFieldName).join('.');
}

function findNode(root: FieldNode, path: readonly string[]): FieldNode | undefined {
  return path.reduce<FieldNode | undefined>((node, name) => node?.children.get(name), root);
}
