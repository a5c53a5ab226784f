import { isInElement, SEEN_SIZE, SeenKind, type SeenMembers, type SeenPage } from '../model/page.ts';
import { parseExactAgain } from '../json/parse-exact-again.ts';
import { classifyBytes, classifyString } from './classify-time.ts';
import { Kind } from './field-kinds.ts';
import { createElementFields, MAY_BE_ROUNDED, ONLY_NULLS } from './element-fields.ts';
import {
  type ElementFields,
  type FieldNode,
  type FieldTree,
  findChild,
  MAX_NESTED_FIELDS,
  observeExact,
} from './observe-fields.ts';

const MINUS = 45;
const POINT = 46;
const ZERO = 48;
const NINE = 57;
const BACKSLASH = 92;
const LETTER_E = 101;
/** The bit in which a capital letter differs. */
const LOWER = 32;
/** Numbers of fewer characters, points included, are the same in a double. */
const ROUNDED_LENGTH = 16;
const WITHOUT_VALUE = new RegExp(`^${ONLY_NULLS}$`);

/**
 * Adds records to a tree by what was seen in their bytes: what `observeRecord` does with their values, and what
 * `observeElements` does with their arrays.
 */
export class SeenObserver {
  readonly #tree: FieldTree;
  #names: SeenPage['names'] | undefined;
  /** Nodes of the names by their number; null for one that the tree does not take in. */
  #nodes: (FieldNode | null)[] = [];

  constructor(tree: FieldTree) {
    this.#tree = tree;
  }

  observe({ page, from, to }: SeenMembers): void {
    // Pages share their names, mostly.
    if (page.names !== this.#names) {
      this.#names = page.names;
      this.#nodes = [];
    }
    const { seen } = page;
    const { inArrays } = this.#tree;
    this.#tree.records += 1;
    inArrays.records += 1;
    for (let at = from; at < to; at += SEEN_SIZE) {
      const what = seen[at] as number;
      const id = what >> 16;
      const position = (what >> 4) & 0xfff;
      const node = this.#nodes[id] ?? this.#findNode(page, id, position);
      if (node === null) continue;
      if (position < node.position) node.position = position;
      observeSeen(node, page, at);
      if (isArray(what & 0xf)) this.#observeArray(node, page, at);
    }
  }

  #observeArray(node: FieldNode, { names, seen, source }: SeenPage, at: number): void {
    const what = seen[at] as number;
    const kind = what & 0xf;
    const name = names[what >> 16];
    // An array in an element is a value like others.
    if (name === undefined || isInElement(name)) return;
    const start = seen[at + 1] as number;
    const end = seen[at + 2] as number;
    const hasOthers = this.#tree.inArrays.byField.get(node)?.hasOthers === true;
    // Until one with a value was seen: an array of nulls shows nothing.
    if (kind === SeenKind.array && !hasOthers && WITHOUT_VALUE.test(source.toString('utf8', start, end)))
      return;
    const fields = this.#fieldsOf(node);
    if (kind !== SeenKind.array) fields.hasObjects = true;
    if (kind !== SeenKind.objects) fields.hasOthers = true;
    if (fields.needsExact || !isWorthALook(source, start, end)) return;
    const text = source.toString('utf8', start, end);
    if (!text.includes('\\u') && !MAY_BE_ROUNDED.test(text)) return;
    // As the table has it: an escape is the character there, and may be a digit; an exponent may be none.
    fields.needsExact = MAY_BE_ROUNDED.test(JSON.stringify(parseExactAgain(text)));
  }

  #fieldsOf(node: FieldNode): ElementFields {
    const { byField } = this.#tree.inArrays;
    const fields = byField.get(node) ?? createElementFields();
    byField.set(node, fields);
    return fields;
  }

  /** Leaves the arrays of this tree to another way of reading them. */
  #giveUpArrays(): void {
    this.#tree.inArrays.records = NaN;
  }

  // An object comes before what is in it: its node is found before theirs.
  #findNode({ names }: SeenPage, id: number, position: number): FieldNode | null {
    const { parent, name = '' } = names[id] ?? {};
    const known = parent === undefined ? this.#tree.root : this.#nodes[parent.id];
    const above = known && parent?.isElement === true ? this.#fieldsOf(known).tree.root : known;
    const node = above ? findChild(above, name, position, above.path.length) : undefined;
    // Objects with that many names are maps, or will be: what becomes of these is not for here to say.
    if (above && parent !== undefined && above.children.size >= MAX_NESTED_FIELDS) this.#giveUpArrays();
    return (this.#nodes[id] = node ?? null);
  }
}

function isArray(kind: number): boolean {
  return kind === SeenKind.array || kind === SeenKind.objects || kind === SeenKind.mixed;
}

/** Whether an array may have what `MAY_BE_ROUNDED` finds, or an escape of it; most have none, and become no text. */
function isWorthALook(bytes: Buffer, start: number, end: number): boolean {
  let inNumber = 0;
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] as number;
    const isPart = (byte >= ZERO && byte <= NINE) || byte === POINT;
    inNumber = isPart ? inNumber + 1 : 0;
    if (inNumber >= ROUNDED_LENGTH || byte === BACKSLASH) return true;
    const before = bytes[at - 1] as number;
    if ((byte | LOWER) === LETTER_E && before >= ZERO && before <= NINE) return true;
    if (byte === ZERO && before === MINUS) return true;
  }
  return false;
}

/** Adds the member that stands at `at` in `page.seen` to its node. */
function observeSeen(node: FieldNode, page: SeenPage, at: number): void {
  const { seen, source } = page;
  const kind = (seen[at] as number) & 0xf;
  if (kind === SeenKind.null) {
    node.kinds |= Kind.null;
    return;
  }
  node.filled += 1;
  switch (kind) {
    case SeenKind.string:
    case SeenKind.wide:
    case SeenKind.escaped:
      observeText(node, page, at);
      return;
    case SeenKind.boolean:
      node.kinds |= Kind.boolean;
      return;
    case SeenKind.integer:
      node.kinds |= Kind.safeInteger;
      return;
    case SeenKind.fraction:
      node.kinds |= Kind.double;
      return;
    case SeenKind.exact:
      observeExact(node, source.toString('latin1', seen[at + 1], seen[at + 2]));
      return;
    case SeenKind.number:
      node.kinds |= classifyNumber(Number(source.toString('latin1', seen[at + 1], seen[at + 2])));
      return;
    default:
      node.kinds |= isArray(kind) ? Kind.array : Kind.object;
  }
}

function classifyNumber(value: number): number {
  return Number.isSafeInteger(value) && !Object.is(value, -0) ? Kind.safeInteger : Kind.double;
}

function observeText(node: FieldNode, { seen, source }: SeenPage, at: number): void {
  const start = seen[at + 1] as number;
  const end = seen[at + 2] as number;
  const isText = (node.kinds & Kind.text) !== 0;
  // No character takes less than a byte: nothing shorter in bytes is longer as a text.
  if (isText && end - start - 2 <= node.longestText) return;
  if (((seen[at] as number) & 0xf) === SeenKind.string) {
    if (end - start - 2 > node.longestText) node.longestText = end - start - 2;
    // Once plain text was seen, no other string can change the column's type.
    if (!isText) node.kinds |= classifyBytes(source, start + 1, end - 1);
    return;
  }
  const value = JSON.parse(source.toString('utf8', start, end)) as string;
  if (value.length > node.longestText) node.longestText = value.length;
  if (!isText) node.kinds |= classifyString(value);
}
