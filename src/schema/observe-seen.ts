import { SEEN_SIZE, SeenKind, type SeenMembers, type SeenPage } from '../model/page.ts';
import { classifyString, Kind } from './field-kinds.ts';
import { type FieldNode, type FieldTree, findChild } from './observe-fields.ts';

/** Adds records to a tree by what was seen in their bytes: what `observeRecord` does with their values. */
export class SeenObserver {
  readonly #tree: FieldTree;
  #page: SeenPage | undefined;
  /** Nodes of the page's names by their number; null for one that the tree does not take in. */
  #nodes: (FieldNode | null)[] = [];

  constructor(tree: FieldTree) {
    this.#tree = tree;
  }

  observe({ page, from, to }: SeenMembers): void {
    if (page !== this.#page) {
      this.#page = page;
      this.#nodes = [];
    }
    const { seen } = page;
    this.#tree.records += 1;
    for (let at = from; at < to; at += SEEN_SIZE) {
      const what = seen[at] as number;
      const id = what >> 16;
      const position = (what >> 4) & 0xfff;
      const node = this.#nodes[id] ?? this.#findNode(page, id, position);
      if (node === null) continue;
      if (position < node.position) node.position = position;
      observeSeen(node, page, at);
    }
  }

  // An object comes before what is in it: its node is found before theirs.
  #findNode({ names }: SeenPage, id: number, position: number): FieldNode | null {
    const { parent, name = '' } = names[id] ?? {};
    const above = parent === undefined ? this.#tree.root : this.#nodes[parent.id];
    const node = above ? findChild(above, name, position, above.path.length) : undefined;
    return (this.#nodes[id] = node ?? null);
  }
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
    case SeenKind.number:
      node.kinds |= classifyNumber(Number(source.toString('latin1', seen[at + 1], seen[at + 2])));
      return;
    default:
      node.kinds |= kind === SeenKind.array ? Kind.array : Kind.object;
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
  const isRaw = ((seen[at] as number) & 0xf) === SeenKind.string;
  const value = isRaw
    ? source.toString('latin1', start + 1, end - 1)
    : (JSON.parse(source.toString('utf8', start, end)) as string);
  if (value.length > node.longestText) node.longestText = value.length;
  // Once plain text was seen, no other string can change the column's type.
  if (!isText) node.kinds |= classifyString(value);
}
