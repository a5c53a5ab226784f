import { isInElement, MOST_SEEN_NAMES, type SeenName } from '../model/page.ts';
import { skipDigits, startsWith } from './byte-steps.ts';

// Of objects in an element: deeper ones stay whole, as JSON.
const MOST_ELEMENT_LEVELS = 5;
// Objects with more names than these are rare, and are read another way.
const MOST_AT_ROOT = 1_000;
const MOST_NESTED = 200;
/** Where the pages of a process have more names together, they start over. */
const MOST_RECENT = 256;

/** A member's name where it stands in records, with what helps to find it again in the next record. */
export interface KnownMember extends SeenName {
  readonly level: number;
  /** Whether the members of such an object are noted: it is in no array, or the element of one, or in that. */
  readonly isNoted: boolean;
  /** The name with its quotes, as bytes. */
  readonly spelling: Uint8Array;
  /** How many names objects under it had so far. */
  names: number;
  /** These by the hash of their spelling; those that share one are linked by `alike`. */
  readonly byHash: Map<number, KnownMember>;
  alike: KnownMember | undefined;
  /** Members in the order of the last object: the next one mostly has the same. */
  readonly expected: KnownMember[];
  /** Number of the object that had it last: a second time in one object is a repeat. */
  lastObject: number;
  /** Stands for the elements of the arrays that it holds, if any were met. */
  elements: KnownMember | undefined;
}

/** The names that the records of one or more pages have, numbered in the order they were met. */
export class MemberNames {
  readonly root: KnownMember = createMember({
    id: -1,
    parent: undefined,
    name: '',
    spelling: new Uint8Array(0),
    level: 0,
    isElement: false,
    isNoted: true,
  });
  readonly all: KnownMember[] = [];

  /** What stands for the elements of the arrays that a member holds: parent of the names of their objects. */
  findElements(member: KnownMember): KnownMember {
    return (member.elements ??= createMember({
      ...member,
      level: member.level + 1,
      isElement: true,
      isNoted: !member.isElement && !isInElement(member),
    }));
  }

  /** The name at a place of an object, which is now expected there; undefined for one to be read another way. */
  find(parent: KnownMember, position: number, spelled: Spelled): KnownMember | undefined {
    const hash = hashOf(spelled);
    let known = parent.byHash.get(hash);
    while (known !== undefined && !isSpelled(known, spelled)) known = known.alike;
    known ??= this.#add(parent, spelled, hash);
    if (known !== undefined) parent.expected[position] = known;
    return known;
  }

  #add(parent: KnownMember, { bytes, start, end }: Spelled, hash: number): KnownMember | undefined {
    const most = parent.level === 0 ? MOST_AT_ROOT : MOST_NESTED;
    // Names that are indexes do not stay where they were written.
    const mayMove = skipDigits(bytes, start + 1) > start + 1;
    if (mayMove || parent.names >= most || this.all.length >= MOST_SEEN_NAMES) return undefined;
    const spelling = Uint8Array.from(bytes.subarray(start, end));
    const name = Buffer.from(spelling.subarray(1, -1)).toString('utf8');
    const member = createMember({
      id: this.all.length,
      parent: parent === this.root ? undefined : parent,
      name,
      spelling,
      level: parent.level + 1,
      isElement: false,
      isNoted: parent.isNoted && countLevels(parent) < MOST_ELEMENT_LEVELS,
    });
    parent.names += 1;
    member.alike = parent.byHash.get(hash);
    parent.byHash.set(hash, member);
    this.all.push(member);
    return member;
  }
}

let recent = new MemberNames();

/** The names of the pages before: the next one mostly has the same, and need not learn them. */
export function takeRecentNames(): MemberNames {
  if (recent.all.length > MOST_RECENT) recent = new MemberNames();
  return recent;
}

/** What is known of a name before a record was read with it. */
type NewMember = Omit<KnownMember, 'names' | 'byHash' | 'alike' | 'expected' | 'lastObject' | 'elements'>;

/** A name with its quotes, in the bytes of a page. */
interface Spelled {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

function hashOf({ bytes, start, end }: Spelled): number {
  let hash = end - start;
  for (let at = start; at < end; at += 1) hash = (Math.imul(hash, 31) + (bytes[at] as number)) | 0;
  return hash;
}

function isSpelled({ spelling }: KnownMember, { bytes, start, end }: Spelled): boolean {
  return spelling.length === end - start && startsWith(bytes, start, spelling);
}

/** Levels of objects from an element of an array down to a member; 0 where it is in no array. */
function countLevels(member: SeenName): number {
  let levels = 0;
  for (let at: SeenName | undefined = member; at !== undefined; at = at.parent) {
    if (at.isElement) return levels;
    levels += 1;
  }
  return 0;
}

function createMember({ id, parent, name, spelling, level, isElement, isNoted }: NewMember): KnownMember {
  return {
    id,
    parent,
    name,
    spelling,
    level,
    isElement,
    isNoted,
    names: 0,
    byHash: new Map(),
    alike: undefined,
    expected: [],
    lastObject: -1,
    elements: undefined,
  };
}
