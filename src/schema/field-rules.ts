import { toSnakeCase } from './name-columns.ts';

/**
 * One spelling for the names a config and an API give a field: `userEmail`, `user_email` and `UserEmail` are
 * one field, and so are `meta.model` and `meta__model`. `path` holds member names from the record's root.
 */
export function foldFieldName(path: readonly string[]): string {
  return path.map(foldSegment).join('__');
}

/** The same for a field as config writes it, its parts joined by dots. */
export function foldConfiguredName(field: string): string {
  return foldFieldName(field.split('.'));
}

/** Whether config's name for a field means the one at this path. */
export function namesField(field: string, path: readonly string[]): boolean {
  return field === path.join('.') || foldConfiguredName(field) === foldFieldName(path);
}

/** One part of a folded name. */
export function foldSegment(name: string): string {
  const folded = toSnakeCase(name);
  // A name of signs alone is told apart by its signs, and never taken for a field called "field".
  return folded === 'field' && !/^_*field_*$/i.test(name) ? name : folded;
}
