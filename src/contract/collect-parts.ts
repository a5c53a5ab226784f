import { resolvePointer } from '../json/pointer.ts';
import { isObject, type JsonObject } from './find-schema-problems.ts';

/** Schemas with what they refer to or combine: what one says itself comes before what a shared definition says. */
export function collectParts(schemas: readonly unknown[], root: JsonObject): readonly JsonObject[] {
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
