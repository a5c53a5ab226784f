import type { ColumnType, ForcedType } from '../model/schema.ts';
import type { LearnedColumn } from '../model/stream.ts';
import { chooseType, kindsHeldBy, mayWiden, widenType } from './column-types.ts';
import { Kind } from './field-kinds.ts';
import { companionPath, companionSource } from './field-paths.ts';
import { nameColumns, pathKey } from './name-columns.ts';
import type { FieldNode, FieldTree } from './observe-fields.ts';

/** One column a scan's rows are loaded into. */
export interface ColumnPlan {
  readonly path: readonly string[];
  readonly name: string;
  readonly type: ColumnType;
  /** Type in the table now; undefined for a column to add. */
  readonly existingType: ColumnType | undefined;
  /** Kinds of value this column takes; others belong to its companion or to its members' columns. */
  readonly takes: number;
  /** True for `<column>__text`, which takes what its main column cannot hold. */
  readonly companion: boolean;
  /** The type config gives the column; its values are converted to it. */
  readonly forcedType?: ForcedType | undefined;
  /** That type was chosen for exact decimals, not by config: text is not read as a number. */
  readonly isExact?: boolean | undefined;
  /** Objects of the field have columns for their members: this one takes its other values. */
  readonly isBesideMembers?: true;
  /** Values the table has in the column do not all survive a cast to its type: those move to the companion. */
  readonly splits?: boolean | undefined;
}

/** A type that config gives a field. */
export interface ForcedColumn {
  readonly type: ForcedType;
  /** Chosen for exact decimals: see `ColumnPlan`. */
  readonly isExact?: boolean | undefined;
  /** Every value of the scan can be converted to it. */
  readonly converts: boolean;
  /** Every value that the table has in the column can. */
  readonly survives: boolean;
}

/** Forced columns by the `pathKey` of their field. */
export type ForcedColumns = ReadonlyMap<string, ForcedColumn>;

/** Says whether every value of a table's column survives a cast to the type. */
export type CanCast = (column: string, from: ColumnType, to: ColumnType) => boolean;

/**
 * Decides the columns of a table after a scan: what it has, widened where the scan's values ask for it,
 * and what is new. Pure; depends on the set of records only, never on their order.
 */
export function resolveColumns(
  tree: FieldTree,
  existing: readonly LearnedColumn[],
  canCast: CanCast,
  forced: ForcedColumns = new Map(),
): readonly ColumnPlan[] {
  const known = new Map(existing.map((column) => [pathKey(column.path), column]));
  const fields = collectFields(tree.root, known, forced, []);
  const mains = fields.map((field) => {
    const key = pathKey(field.node.path);
    const rule = forced.get(key);
    return rule === undefined
      ? planColumn(field, known.get(key), canCast)
      : planForced(field.node.path, field.position, known.get(key), rule);
  });
  // A rule holds for the table as well when no record of this scan has the field.
  const forcedHere = new Set(mains.flatMap(({ path, forcedType }) => (forcedType ? [pathKey(path)] : [])));
  for (const [key, rule] of forced) {
    const column = known.get(key);
    if (column !== undefined && !forcedHere.has(key)) mains.push(planForced(column.path, [], column, rule));
  }
  const companions = mains.filter((plan) => plan.needsCompanion).map((plan) => planCompanion(plan, known));
  const seen = new Set([...mains, ...companions].map((plan) => pathKey(plan.path)));
  const untouched = existing
    .filter((column) => !seen.has(pathKey(column.path)))
    .map((column) => keepColumn(column, mains));

  const plans = [...mains, ...companions, ...untouched];
  const names = nameColumns(
    plans.map((plan) => plan.path),
    new Map(existing.map((column) => [pathKey(column.path), column.name])),
  );
  const order = new Map(existing.map((column, at) => [pathKey(column.path), at]));
  return plans
    .map(({ position, flattened, needsCompanion: _needsCompanion, ...plan }) => ({
      column: {
        ...plan,
        name: names.get(pathKey(plan.path)) ?? '',
        ...(flattened && { isBesideMembers: true as const }),
      },
      rank: order.get(pathKey(plan.path)) ?? Infinity,
      position,
    }))
    .toSorted(
      (a, b) =>
        compare(a.rank, b.rank) ||
        comparePositions(a.position, b.position) ||
        compare(a.column.name, b.column.name),
    )
    .map(({ column }) => column);
}

interface Field {
  readonly node: FieldNode;
  readonly position: readonly number[];
  /** Its members have columns of their own. */
  readonly flattened: boolean;
}

interface DraftPlan extends Omit<ColumnPlan, 'name'> {
  readonly position: readonly number[];
  readonly flattened: boolean;
  readonly needsCompanion: boolean;
}

function collectFields(
  parent: FieldNode,
  known: ReadonlyMap<string, LearnedColumn>,
  forced: ForcedColumns,
  above: readonly number[],
): Field[] {
  return [...parent.children.values()].flatMap((node) => {
    const position = [...above, node.position];
    const flattened = !forced.has(pathKey(node.path)) && isFlattened(node, known);
    // Values that are not objects keep a column of their own next to flattened members.
    const own =
      !flattened || known.has(pathKey(node.path)) || (node.kinds & ~(Kind.object | Kind.null)) !== 0;
    return [
      ...(own ? [{ node, position, flattened }] : []),
      ...(flattened ? collectFields(node, known, forced, position) : []),
    ];
  });
}

// Members become columns when a field only ever held objects, or when the table already has them so.
function isFlattened(node: FieldNode, known: ReadonlyMap<string, LearnedColumn>): boolean {
  if ((node.kinds & Kind.object) === 0 || node.children.size === 0 || node.folded) return false;
  const own = known.get(pathKey(node.path));
  // A column of JSON that never took an object stands beside the members of those.
  if (own?.type === 'JSON')
    return own.jsonTypes?.includes('object') === false && hasKnownMembers(node.path, known);
  if (own !== undefined && own.type !== 'NULL') return true;
  return (node.kinds & ~(Kind.object | Kind.null)) === 0 || hasKnownMembers(node.path, known);
}

function hasKnownMembers(path: readonly string[], known: ReadonlyMap<string, LearnedColumn>): boolean {
  for (const column of known.values()) {
    if (column.path.length > path.length && path.every((part, at) => column.path[at] === part)) return true;
  }
  return false;
}

function planColumn(
  { node, position, flattened }: Field,
  existing: LearnedColumn | undefined,
  canCast: CanCast,
): DraftPlan {
  const objects = flattened ? Kind.object : 0;
  const seen = { kinds: node.kinds & ~objects, wholeDigits: node.wholeDigits, scale: node.scale };
  const wanted = existing === undefined ? chooseType(seen) : widenType(existing.type, seen);
  const base = { path: node.path, existingType: existing?.type, companion: false, position, flattened };
  if (
    existing === undefined ||
    existing.type === 'NULL' ||
    wanted === existing.type ||
    isCastable(existing, wanted, canCast)
  ) {
    return { ...base, type: wanted, takes: kindsHeldBy(wanted) & ~objects, needsCompanion: false };
  }
  return { ...base, type: existing.type, takes: kindsHeldBy(existing.type) & ~objects, needsCompanion: true };
}

/** A column whose type config decides: what the type does not hold goes to the companion. */
function planForced(
  path: readonly string[],
  position: readonly number[],
  existing: LearnedColumn | undefined,
  { type, converts, survives, isExact }: ForcedColumn,
): DraftPlan {
  const before = existing?.type;
  const splits = !survives && before !== undefined && before !== 'NULL' && before !== type;
  return {
    path,
    type,
    existingType: before,
    takes: ~0,
    companion: false,
    forcedType: type,
    isExact,
    splits,
    position,
    flattened: false,
    needsCompanion: splits || !converts,
  };
}

function isCastable(existing: LearnedColumn, to: ColumnType, canCast: CanCast): boolean {
  return mayWiden(existing.type, to) && canCast(existing.name, existing.type, to);
}

function planCompanion(main: DraftPlan, known: ReadonlyMap<string, LearnedColumn>): DraftPlan {
  const path = companionPath(main.path);
  return {
    ...main,
    path,
    type: 'VARCHAR',
    forcedType: undefined,
    isExact: undefined,
    splits: undefined,
    existingType: known.get(pathKey(path))?.type,
    takes: leftOverBy(main),
    companion: true,
    needsCompanion: false,
  };
}

function leftOverBy(main: DraftPlan): number {
  return ~main.takes & ~Kind.null & ~(main.flattened ? Kind.object : 0);
}

/** A column the table has and no record of the scan filled: kept, so that older rows keep their values. */
function keepColumn(column: LearnedColumn, mains: readonly DraftPlan[]): DraftPlan {
  const source = companionSource(column.path);
  const main = source && mains.find((plan) => pathKey(plan.path) === pathKey(source));
  return {
    path: column.path,
    type: column.type,
    existingType: column.type,
    takes: main === undefined ? kindsHeldBy(column.type) : leftOverBy(main),
    companion: source !== undefined,
    position: [],
    flattened: false,
    needsCompanion: false,
  };
}

function comparePositions(a: readonly number[], b: readonly number[]): number {
  for (let at = 0; at < Math.max(a.length, b.length); at += 1) {
    const difference = compare(a[at] ?? -1, b[at] ?? -1);
    if (difference !== 0) return difference;
  }
  return 0;
}

function compare<T extends number | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
