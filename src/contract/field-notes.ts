import type { FieldNotes } from '../model/schema.ts';
import { resolvePointer } from '../json/pointer.ts';
import { isObject, type JsonObject } from './find-schema-problems.ts';

/** Finds what a contract file says about a field for people; the empty path is the record, and so the table. */
export type FindNotes = (path: readonly string[]) => FieldNotes;

const NOTHING: FieldNotes = { description: undefined, unit: undefined };

/** The notes of a contract file; without a file there are none. */
export function readNotes(root: JsonObject | undefined): FindNotes {
  if (root === undefined) return () => NOTHING;
  return (path) => {
    let parts = expand([root], root);
    for (const name of path) {
      const members = parts.flatMap(({ properties }) =>
        isObject(properties) && Object.hasOwn(properties, name) ? [properties[name]] : [],
      );
      parts = expand(members, root);
    }
    return { description: firstText(parts, 'description'), unit: firstText(parts, 'unit') };
  };
}

/** Schemas with what they refer to or combine: a field's own words come before those of a shared definition. */
function expand(schemas: readonly unknown[], root: JsonObject): readonly JsonObject[] {
  const found = new Set<JsonObject>();
  const add = (json: unknown): void => {
    if (!isObject(json) || found.has(json)) return;
    found.add(json);
    if (typeof json['$ref'] === 'string') add(resolvePointer(root, json['$ref'].slice(1)));
    for (const keyword of ['allOf', 'anyOf', 'oneOf']) {
      const parts = json[keyword];
      if (Array.isArray(parts)) parts.forEach(add);
    }
  };
  schemas.forEach(add);
  return [...found];
}

function firstText(parts: readonly JsonObject[], keyword: string): string | undefined {
  for (const { [keyword]: text } of parts)
    if (typeof text === 'string' && text.trim() !== '') return text.trim();
  return undefined;
}
