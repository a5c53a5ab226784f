import type { JsonKind, ScanListener } from './json-scanner.ts';

/** Where a value is in its document, in bytes. */
export interface ValuePlace {
  readonly kind: JsonKind;
  readonly start: number;
  /** Just after its last byte; undefined while the document has not come that far. */
  readonly end: number | undefined;
  /** Elements of an array so far. */
  readonly count: number;
  /** Text of a scalar, at most the beginning of it. */
  readonly text: string | undefined;
}

type Place = { -readonly [Part in keyof ValuePlace]: ValuePlace[Part] };

interface WatchNode {
  readonly children: Map<string, WatchNode>;
  place: Place | undefined;
}

/** An open container whose members or elements are told. */
interface Frame {
  readonly place: Place;
  readonly node: WatchNode | undefined;
  readonly isRoot: boolean;
}

const MOST_NAMES = 8;
/** Beyond this many, which of the top-level arrays holds the records is nobody's guess. */
const MOST_ARRAYS = 1_000;

/**
 * Where the values at some paths, and the arrays at the top of an object, are in a document: learned in one
 * pass, with memory that does not grow with the document. Of a member named twice the last one counts.
 */
export class DocumentOutline implements ScanListener {
  readonly #watched: WatchNode = { children: new Map(), place: undefined };
  readonly #frames: Frame[] = [];
  /** Values that have begun and not ended. */
  readonly #open: Place[] = [];
  readonly #names: string[] = [];
  /** By name, or by position where the name is too long to be kept. */
  readonly #arrays = new Map<string | number, Place>();
  #hasTooManyArrays = false;
  #name: string | undefined;
  /** The value that is open is only counted. */
  #isCounted = false;

  /** Paths are member names (or indexes of arrays) from the document's root. */
  constructor(paths: readonly (readonly string[])[]) {
    for (const path of paths) watch(this.#watched, path);
  }

  /** The document itself. */
  get root(): ValuePlace | undefined {
    return this.#watched.place;
  }

  /** The first names of a document that is an object. */
  get names(): readonly string[] {
    return this.#names;
  }

  /** The only member of the document that is an array; its name where that is not too long. */
  get onlyArray(): { readonly name: string | undefined; readonly place: ValuePlace } | undefined {
    const [only] = this.#arrays;
    if (this.#hasTooManyArrays || this.#arrays.size !== 1 || only === undefined) return undefined;
    const [name, place] = only;
    return { name: typeof name === 'string' ? name : undefined, place };
  }

  /** The value at a watched path. */
  at(path: readonly string[]): ValuePlace | undefined {
    return path.reduce<WatchNode | undefined>((node, name) => node?.children.get(name), this.#watched)?.place;
  }

  name(name: string | undefined): void {
    this.#name = name;
  }

  begin(kind: JsonKind, at: number): boolean {
    const parent = this.#frames.at(-1);
    if (parent?.place.kind === 'array' && (parent.node?.children.size ?? 0) === 0) {
      parent.place.count += 1;
      this.#isCounted = true;
      return false;
    }
    const place: Place = { kind, start: at, end: undefined, count: 0, text: undefined };
    const node = parent === undefined ? this.#watched : this.#enter(parent);
    if (node !== undefined) {
      forget(node);
      node.place = place;
    }
    this.#open.push(place);
    const isMemberOfRoot = parent?.isRoot === true && parent.place.kind === 'object';
    if (isMemberOfRoot) this.#noteMember(place);
    if (kind === 'object') return this.#follow(place, node, node === this.#watched || hasChildren(node));
    if (kind === 'array') return this.#follow(place, node, node !== undefined || isMemberOfRoot);
    return node !== undefined;
  }

  end(at: number, text: string | undefined): void {
    if (this.#isCounted) {
      this.#isCounted = false;
      return;
    }
    const place = this.#open.pop();
    if (place === undefined) return;
    place.end = at;
    place.text = text;
    if (this.#frames.at(-1)?.place === place) this.#frames.pop();
  }

  #enter(parent: Frame): WatchNode | undefined {
    if (parent.place.kind === 'object')
      return this.#name === undefined ? undefined : parent.node?.children.get(this.#name);
    const index = parent.place.count;
    parent.place.count += 1;
    return parent.node?.children.get(String(index));
  }

  #follow(place: Place, node: WatchNode | undefined, follows: boolean): boolean {
    if (follows) this.#frames.push({ place, node, isRoot: node === this.#watched });
    return follows;
  }

  #noteMember(place: Place): void {
    const name = this.#name;
    if (name !== undefined) {
      if (this.#names.length < MOST_NAMES && !this.#names.includes(name)) this.#names.push(name);
      this.#arrays.delete(name);
    }
    if (place.kind !== 'array') return;
    if (this.#arrays.size >= MOST_ARRAYS) this.#hasTooManyArrays = true;
    else this.#arrays.set(name ?? place.start, place);
  }
}

function watch(root: WatchNode, path: readonly string[]): void {
  let node = root;
  for (const name of path) {
    const known = node.children.get(name);
    const child = known ?? { children: new Map(), place: undefined };
    if (known === undefined) node.children.set(name, child);
    node = child;
  }
}

function hasChildren(node: WatchNode | undefined): boolean {
  return node !== undefined && node.children.size > 0;
}

function forget(node: WatchNode): void {
  node.place = undefined;
  for (const child of node.children.values()) forget(child);
}
