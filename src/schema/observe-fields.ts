import { ExactNumber } from '../json/exact-number.ts';
import { classifyString } from './classify-time.ts';
import { classifyExactNumber, Kind, stringKinds } from './field-kinds.ts';
import { toFieldName, toPathPart } from './field-paths.ts';

/** Objects nested deeper than this stay whole, as JSON. */
const MAX_FLATTEN_DEPTH = 6;
/** A nested object with more member names than this over a scan is a map, not a record: it stays whole. */
export const MAX_NESTED_FIELDS = 250;

/** What a scan showed about one field; grows while records are observed. */
export interface FieldNode {
  readonly path: readonly string[];
  /** Earliest place among its siblings in any record: columns keep the order people wrote. */
  position: number;
  /** Union of `Kind` bits. */
  kinds: number;
  /** Records in which the field had a value that is not null. */
  filled: number;
  /** Most digits before and after the decimal point, over exact numbers. */
  wholeDigits: number;
  scale: number;
  longestText: number;
  /** Set when the object has too many members to be columns; `children` is then incomplete. */
  folded: boolean;
  readonly children: Map<string, FieldNode>;
  /** Names and nodes of the last object's members in their order: the next one mostly has the same. */
  readonly expected: { readonly name: string; readonly node: FieldNode }[];
}

/** The fields of every record of a scan. */
export interface FieldTree {
  records: number;
  readonly root: FieldNode;
  readonly inArrays: FieldsInArrays;
}

/** What the arrays of records hold, of those records whose arrays were looked at. */
export interface FieldsInArrays {
  /** How many these are: only where it is every record of the tree, what was seen is all there is. */
  records: number;
  readonly byField: Map<FieldNode, ElementFields>;
}

/** What the elements of a column's arrays have shown so far. It only grows, and does not depend on their order. */
export interface ElementFields {
  /** The fields of elements that are objects. */
  readonly tree: FieldTree;
  hasObjects: boolean;
  /** Elements that are neither objects nor null. */
  hasOthers: boolean;
  /** Elements have so many names that they are maps, not records: they stay whole, and have no fields. */
  isMap: boolean;
  /** Numbers that a double may round, or whose spelling counts: these take a slower way out of the text. */
  needsExact: boolean;
}

export function createFieldTree(): FieldTree {
  return { records: 0, root: createNode([]), inArrays: { records: 0, byField: new Map() } };
}

function createNode(path: readonly string[]): FieldNode {
  return {
    path,
    position: Infinity,
    kinds: 0,
    filled: 0,
    wholeDigits: 0,
    scale: 0,
    longestText: 0,
    folded: false,
    children: new Map(),
    expected: [],
  };
}

/** Adds one record's values to the tree; the result does not depend on the order of records. */
export function observeRecord(tree: FieldTree, record: Readonly<Record<string, unknown>>): void {
  tree.records += 1;
  observeMembers(tree.root, record, 0);
}

/** Adds a top-level field that every record observed so far has with one value. */
export function observeConstant(tree: FieldTree, name: string, value: unknown): void {
  if (tree.records === 0) return;
  const child = createNode([toPathPart(name)]);
  child.position = tree.root.children.size;
  observeValue(child, value, 1);
  if (child.filled > 0) child.filled = tree.records;
  tree.root.children.set(name, child);
}

function observeMembers(node: FieldNode, object: Readonly<Record<string, unknown>>, depth: number): void {
  let position = 0;
  for (const name of Object.keys(object)) {
    const expected = node.expected[position];
    const child = expected?.name === name ? expected.node : findChild(node, name, position, depth);
    if (child === undefined) continue;
    if (position < child.position) child.position = position;
    position += 1;
    observeValue(child, object[name], depth + 1);
  }
}

/** The node of a member, now expected at this position; undefined once the object has too many. */
export function findChild(
  node: FieldNode,
  name: string,
  position: number,
  depth: number,
): FieldNode | undefined {
  let child = node.children.get(name);
  if (child === undefined) {
    if (depth > 0 && node.children.size >= MAX_NESTED_FIELDS) {
      node.folded = true;
      return undefined;
    }
    child = createNode([...node.path, toPathPart(name)]);
    node.children.set(name, child);
  }
  node.expected[position] = { name, node: child };
  return child;
}

function observeValue(node: FieldNode, value: unknown, depth: number): void {
  if (value === null || value === undefined) {
    node.kinds |= Kind.null;
    return;
  }
  node.filled += 1;
  switch (typeof value) {
    case 'string':
      observeString(node, value);
      return;
    case 'number':
      node.kinds |= Number.isSafeInteger(value) && !Object.is(value, -0) ? Kind.safeInteger : Kind.double;
      return;
    case 'boolean':
      node.kinds |= Kind.boolean;
      return;
    default:
      observeContainer(node, value, depth);
  }
}

function observeString(node: FieldNode, value: string): void {
  if (value.length > node.longestText) node.longestText = value.length;
  // Once plain text was seen, no other string can change the column's type.
  node.kinds |= (node.kinds & Kind.text) === 0 ? classifyString(value) : Kind.text & stringKinds;
}

function observeContainer(node: FieldNode, value: object, depth: number): void {
  if (value instanceof ExactNumber) {
    observeExact(node, value.text);
  } else if (Array.isArray(value)) {
    node.kinds |= Kind.array;
  } else {
    node.kinds |= Kind.object;
    if (depth < MAX_FLATTEN_DEPTH) observeMembers(node, value as Record<string, unknown>, depth);
  }
}

/** Adds a number that is kept as text to its node. */
export function observeExact(node: FieldNode, text: string): void {
  const { kind, whole, scale } = classifyExactNumber(text);
  node.kinds |= kind;
  node.wholeDigits = Math.max(node.wholeDigits, whole);
  node.scale = Math.max(node.scale, scale);
}

/** True for what can become a row: an object, not null, an array or a number kept as text. */
export function isRecordObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)
  );
}

/** What was seen of the field at a path. */
export function findNode(root: FieldNode, path: readonly string[]): FieldNode | undefined {
  return path.reduce<FieldNode | undefined>((node, part) => node?.children.get(toFieldName(part)), root);
}
