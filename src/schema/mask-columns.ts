import type { ColumnRule, ColumnType } from '../model/schema.ts';
import type { LearnedColumn } from '../model/stream.ts';
import { companionSource, toFieldName } from './field-paths.ts';
import { foldConfiguredName, foldFieldName, namesField } from './field-rules.ts';

/** What newly masked fields ask of a table whose columns hold them raw. */
export interface MaskedColumns {
  /** Columns that go, with everything they held. */
  readonly dropped: readonly LearnedColumn[];
  /** Columns that stay, as this type, and forget what they held. */
  readonly cleared: readonly { readonly column: LearnedColumn; readonly type: ColumnType }[];
  /** The columns that are left, as they are then. */
  readonly left: readonly LearnedColumn[];
}

/** Finds the columns that hold a field which a new `exclude` or `hash` rule is for, or a part of it, or it as a part. */
export function findMaskedColumns(
  rules: Readonly<Record<string, ColumnRule>>,
  learned: readonly LearnedColumn[],
): MaskedColumns {
  const masks = Object.entries(rules).filter(([, { kind }]) => kind !== 'type');
  const dropped: LearnedColumn[] = [];
  const cleared: { readonly column: LearnedColumn; readonly type: ColumnType }[] = [];
  const left: LearnedColumn[] = [];
  for (const column of learned) {
    const fate = masks.length === 0 ? 'keep' : decide(column, masks);
    if (fate === 'drop') {
      dropped.push(column);
      continue;
    }
    const type = fate === 'hash' ? 'VARCHAR' : column.type;
    const isStored = column.type !== 'NULL';
    if (fate !== 'keep' && isStored) cleared.push({ column, type });
    left.push(isStored ? { ...column, type } : column);
  }
  return { dropped, cleared, left };
}

type Fate = 'keep' | 'drop' | 'hash' | 'clear';

function decide({ path }: LearnedColumn, masks: readonly (readonly [string, ColumnRule])[]): Fate {
  const isCompanion = companionSource(path) !== undefined;
  const names = (companionSource(path) ?? path).map(toFieldName);
  const fates = masks.map(([field, { kind }]): Fate => {
    if (namesField(field, names)) return kind === 'hash' && !isCompanion ? 'hash' : 'drop';
    // A member of an object that is now left out, or hashed as a whole.
    if (names.some((_, at) => namesField(field, names.slice(0, at)))) return 'drop';
    // A column that holds the whole object, or a list of such.
    return isBelow(field, names) ? 'clear' : 'keep';
  });
  return fates.find((fate) => fate === 'drop') ?? fates.find((fate) => fate !== 'keep') ?? 'keep';
}

function isBelow(field: string, names: readonly string[]): boolean {
  return (
    field.startsWith(`${names.join('.')}.`) ||
    foldConfiguredName(field).startsWith(`${foldFieldName(names)}__`)
  );
}
