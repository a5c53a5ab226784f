import { isInElement, MOST_SEEN_NAMES, type SeenName } from '../model/page.ts';

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
  readonly children: Map<string, KnownMember>;
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

  /** Notes a name as the member at a place of an object; undefined for one that has to be read another way. */
  learn(parent: KnownMember, position: number, spelling: Uint8Array): KnownMember | undefined {
    const name = Buffer.from(spelling.subarray(1, -1)).toString('utf8');
    const known = parent.children.get(name) ?? this.#add(parent, name, spelling);
    if (known !== undefined) parent.expected[position] = known;
    return known;
  }

  #add(parent: KnownMember, name: string, spelling: Uint8Array): KnownMember | undefined {
    const most = parent.level === 0 ? MOST_AT_ROOT : MOST_NESTED;
    // Names that are indexes do not stay where they were written.
    const mayMove = /^\d/.test(name);
    if (mayMove || parent.children.size >= most || this.all.length >= MOST_SEEN_NAMES) return undefined;
    const member = createMember({
      id: this.all.length,
      parent: parent === this.root ? undefined : parent,
      name,
      spelling: Uint8Array.from(spelling),
      level: parent.level + 1,
      isElement: false,
      isNoted: parent.isNoted && countLevels(parent) < MOST_ELEMENT_LEVELS,
    });
    parent.children.set(name, member);
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
type NewMember = Omit<KnownMember, 'children' | 'expected' | 'lastObject' | 'elements'>;

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
    children: new Map(),
    expected: [],
    lastObject: -1,
    elements: undefined,
  };
}
