import type { FieldNotes } from '../model/schema.ts';
import { collectParts } from './collect-parts.ts';
import { isObject, type JsonObject } from './find-schema-problems.ts';

/** Finds what a contract file says about a field for people; the empty path is the record, and so the table. */
export type FindNotes = (path: readonly string[]) => FieldNotes;

const NOTHING: FieldNotes = { description: undefined, unit: undefined };

/** The notes of a contract file; a stream without a file has nothing of it. */
export function readNotes(root: JsonObject | undefined): FindNotes {
  if (root === undefined) return () => NOTHING;
  return (path) => {
    let parts = collectParts([root], root);
    for (const name of path) {
      const members = parts.flatMap(({ properties }) =>
        isObject(properties) && Object.hasOwn(properties, name) ? [properties[name]] : [],
      );
      parts = collectParts(members, root);
    }
    return { description: firstText(parts, 'description'), unit: firstText(parts, 'unit') };
  };
}

function firstText(parts: readonly JsonObject[], keyword: string): string | undefined {
  for (const { [keyword]: text } of parts)
    if (typeof text === 'string' && text.trim() !== '') return text.trim();
  return undefined;
}
