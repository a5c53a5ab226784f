import { parseExactAgain } from '../json/parse-exact-again.ts';
import { Kind, stringKinds } from './field-kinds.ts';
import { toFieldName, toPathPart } from './field-paths.ts';
import {
  createFieldTree,
  type ElementFields,
  type FieldNode,
  isRecordObject,
  MAX_NESTED_FIELDS,
  observeRecord,
} from './observe-fields.ts';

/** Fields of elements as they are kept. */
interface PackedNode {
  readonly k: number;
  readonly p?: number;
  readonly w?: number;
  readonly s?: number;
  readonly f?: true;
  readonly c?: Readonly<Record<string, PackedNode>>;
}

interface PackedFields extends Omit<ElementFields, 'tree' | 'isMap'> {
  readonly isMap?: true;
  readonly fields: Readonly<Record<string, PackedNode>>;
}

export function createElementFields(): ElementFields {
  return { tree: createFieldTree(), hasObjects: false, hasOthers: false, isMap: false, needsExact: false };
}

/**
 * Sixteen characters of a number, an exponent, or a zero with a sign; in a text as well, which costs speed only. A pattern of
 * the engine's, which cannot look ahead, and of ours.
 */
export const ROUNDED = String.raw`[0-9.]{16}|[0-9][eE]|[\[,:\s]-0(?:[^.0-9]|$)`;
export const MAY_BE_ROUNDED = new RegExp(ROUNDED);

/** An array without a value, as a pattern of the engine's and of ours. */
export const ONLY_NULLS = String.raw`\[\s*(?:null\s*(?:,\s*null\s*)*)?\]`;

/** Adds the elements of an array, by its JSON; anything but an array has none. */
export function observeElements(fields: ElementFields, text: string): void {
  observeArrays(fields, text);
}

/** The same for arrays with commas between them. */
export function observeArrays(fields: ElementFields, texts: string): void {
  const isExact = MAY_BE_ROUNDED.test(texts);
  const all = `[${texts}]`;
  const arrays = (isExact ? parseExactAgain(all) : JSON.parse(all)) as readonly unknown[];
  for (const array of arrays) {
    if (!Array.isArray(array)) continue;
    if (isExact) fields.needsExact = true;
    observeArray(fields, array as readonly unknown[]);
  }
}

function observeArray(fields: ElementFields, array: readonly unknown[]): void {
  for (const element of array) {
    if (isRecordObject(element)) {
      fields.hasObjects = true;
      if (!fields.isMap) observeRecord(fields.tree, element);
      foldMaps(fields);
    } else if (element !== null) fields.hasOthers = true;
  }
}

/** Whether it is a map does not depend on the order of elements, as all of their names count. */
function foldMaps(fields: ElementFields): void {
  const { root } = fields.tree;
  fields.isMap ||= root.children.size > MAX_NESTED_FIELDS;
  if (!fields.isMap) return;
  root.children.clear();
  root.expected.length = 0;
}

/** The fields as a text that two states of the same fields share. */
export function packElementFields({ tree, isMap, ...flags }: ElementFields): string {
  // Left out where it is false, so that texts of earlier versions stay as they are.
  return JSON.stringify({ ...flags, ...(isMap && { isMap }), fields: packChildren(tree.root) });
}

/** Reads them again, and adds those of other texts. */
export function unpackElementFields(texts: readonly string[]): ElementFields {
  const all = createElementFields();
  for (const text of texts) {
    const packed = JSON.parse(text) as PackedFields;
    all.hasObjects ||= packed.hasObjects;
    all.hasOthers ||= packed.hasOthers;
    all.needsExact ||= packed.needsExact;
    all.isMap ||= packed.isMap === true;
    unpackChildren(all.tree.root, packed.fields);
    foldMaps(all);
  }
  return all;
}

/** Beside plain text other kinds of text say nothing: whether they were noticed depends on the order of the records. */
function packKinds(kinds: number): number {
  return (kinds & Kind.text) === 0 ? kinds : (kinds & ~stringKinds) | Kind.text;
}

function packChildren(node: FieldNode): Record<string, PackedNode> {
  const sorted = [...node.children].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(
    sorted.map(([name, child]) => [
      // An own member even if it is called `__proto__`.
      toPathPart(name),
      {
        k: packKinds(child.kinds),
        ...(Number.isFinite(child.position) && { p: child.position }),
        ...(child.wholeDigits > 0 && { w: child.wholeDigits }),
        ...(child.scale > 0 && { s: child.scale }),
        ...(child.folded && { f: true as const }),
        ...(child.children.size > 0 && { c: packChildren(child) }),
      },
    ]),
  );
}

function unpackChildren(node: FieldNode, packed: Readonly<Record<string, PackedNode>>): void {
  for (const [part, { k, p, w = 0, s = 0, f, c }] of Object.entries(packed)) {
    const name = toFieldName(part);
    const child = node.children.get(name) ?? createNode([...node.path, part]);
    node.children.set(name, child);
    child.kinds |= k;
    child.position = Math.min(child.position, p ?? Infinity);
    child.wholeDigits = Math.max(child.wholeDigits, w);
    child.scale = Math.max(child.scale, s);
    child.folded ||= f === true;
    if (c !== undefined) unpackChildren(child, c);
  }
}

function createNode(path: readonly string[]): FieldNode {
  return { ...createFieldTree().root, path, children: new Map(), expected: [] };
}
