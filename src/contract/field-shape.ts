import { collectParts } from './collect-parts.ts';
import { isObject, type JsonObject } from './find-schema-problems.ts';

/** Which fields a contract file knows of, whatever it says about their values. */
export interface FieldShape {
  /** Shapes of the members it names; undefined where it names none, so that any may be there. */
  readonly properties: ReadonlyMap<string, () => FieldShape> | undefined;
  /** It says itself that others may be there. */
  readonly isOpen: boolean;
  /** It says what type the value has. */
  readonly isTyped: boolean;
}

/** The shape of a contract file's records: its own `properties` and those of what it refers to or combines. */
export function readFieldShape(root: JsonObject): FieldShape {
  return shapeOf([root], root);
}

/** The shape of several schemas of one value, taken together. */
function shapeOf(schemas: readonly unknown[], root: JsonObject): FieldShape {
  const parts = collectParts(schemas, root);
  const members = new Map<string, unknown[]>();
  for (const part of parts) {
    if (!isObject(part['properties'])) continue;
    for (const [name, json] of Object.entries(part['properties'])) {
      const known = members.get(name);
      if (known === undefined) members.set(name, [json]);
      else known.push(json);
    }
  }
  const named = parts.some((part) => isObject(part['properties']));
  return {
    properties: named
      ? new Map([...members].map(([name, schemas]) => [name, once(() => shapeOf(schemas, root))]))
      : undefined,
    isOpen: parts.some(({ additionalProperties: more }) => more === true || isObject(more)),
    isTyped: parts.some((part) => ['type', 'enum', 'const'].some((keyword) => part[keyword] !== undefined)),
  };
}

/** Computed when it is first asked for: a description may contain itself. */
function once<T extends object>(compute: () => T): () => T {
  let value: T | undefined;
  return () => (value ??= compute());
}
