import type { ColumnType, JsonType } from '../model/schema.ts';
import type { LearnedColumn } from '../model/stream.ts';
import { companionSource, toFieldName } from '../schema/field-paths.ts';
import { isObject, type JsonObject } from './find-schema-problems.ts';
import { resolvePointer } from '../json/pointer.ts';
import { type FieldShape, readFieldShape } from './field-shape.ts';

/** One way in which a contract file and what was learned part. */
export interface ContractDifference {
  /** Names joined by dots. */
  readonly field: string;
  readonly kind: 'not-learned' | 'not-in-file' | 'type';
  /** What the file says the type is; undefined where it says nothing. */
  readonly fileType: string | undefined;
  readonly learnedType: ColumnType | undefined;
}

/** Compares a contract file with the learned columns; returns an empty list if they agree. */
export function diffContract(
  file: JsonObject,
  learned: readonly LearnedColumn[],
): readonly ContractDifference[] {
  const fields = listFields(file);
  const companions = new Set(
    learned.flatMap(({ path }) => companionSource(path)?.map(toFieldName).join('.') ?? []),
  );
  const columns = learned.filter(({ path }) => companionSource(path) === undefined);
  const paths = columns.map(({ path }) => path.map(toFieldName));
  const shape = readFieldShape(file);
  return [
    ...columns.flatMap(({ type, jsonTypes }, at): readonly ContractDifference[] => {
      const path = paths[at] ?? [];
      const field = path.join('.');
      const said = fields.get(field);
      if (said === undefined) {
        const isDescribed = shape.properties === undefined || isLetIn(shape, path);
        return isDescribed ? [] : [{ field, kind: 'not-in-file', fileType: undefined, learnedType: type }];
      }
      // A companion means that the column does not hold all there is.
      const isHeld = holds(said, type, jsonTypes) && !(companions.has(field) && said.size > 0);
      return isHeld ? [] : [{ field, kind: 'type', fileType: [...said].join(' or '), learnedType: type }];
    }),
    ...[...fields].flatMap(([field, said]): readonly ContractDifference[] => {
      const isKnown = paths.some(
        (path) => path.join('.') === field || path.join('.').startsWith(`${field}.`),
      );
      const fileType = said.size === 0 ? undefined : [...said].join(' or ');
      return isKnown ? [] : [{ field, kind: 'not-learned', fileType, learnedType: undefined }];
    }),
  ];
}

/** Whether a field that the file does not name is below an object of which it says nothing. */
function isLetIn(shape: FieldShape, path: readonly string[]): boolean {
  let place: FieldShape = shape;
  for (const name of path) {
    if (place.properties === undefined) return true;
    const next = place.properties.get(name);
    if (next === undefined) return place.isOpen;
    place = next();
  }
  return true;
}

type Types = ReadonlySet<string>;

const MOST_LEVELS = 20;

/** The fields a file describes, by their names with dots, each with its types; none means any. */
function listFields(file: JsonObject): ReadonlyMap<string, Types> {
  const fields = new Map<string, Types>();
  const visit = (json: JsonObject, above: readonly string[]): void => {
    for (const part of expand(json, file)) {
      if (!isObject(part['properties']) || above.length > MOST_LEVELS) continue;
      for (const [name, property] of Object.entries(part['properties'])) {
        const path = [...above, name];
        const types = isObject(property) ? readTypes(property, file) : new Set<string>();
        fields.set(path.join('.'), types);
        if (isObject(property)) visit(property, path);
      }
    }
  };
  visit(file, []);
  return fields;
}

/** A schema and those it refers to or is made of. */
function expand(json: JsonObject, root: JsonObject, seen = new Set<JsonObject>()): readonly JsonObject[] {
  if (seen.has(json)) return [];
  seen.add(json);
  const ref = typeof json['$ref'] === 'string' ? resolvePointer(root, json['$ref'].slice(1)) : undefined;
  const parts = [ref, ...['allOf', 'anyOf', 'oneOf'].flatMap((keyword) => json[keyword] ?? [])];
  return [json, ...parts.filter(isObject).flatMap((part) => expand(part, root, seen))];
}

function readTypes(json: JsonObject, root: JsonObject): Types {
  return new Set(
    expand(json, root).flatMap(({ type, format }) => {
      const types: readonly unknown[] = type === undefined ? [] : [type].flat();
      return types
        .filter((one) => typeof one === 'string')
        .map((one) => (one === 'string' && typeof format === 'string' ? `string (${format})` : one));
    }),
  );
}

/** Whether a file's types can be all that a column's values were. */
function holds(types: Types, learned: ColumnType, seen: readonly JsonType[] | undefined): boolean {
  if (types.size === 0 || learned === 'NULL' || learned === 'JSON') return true;
  const has = (...wanted: readonly string[]) => wanted.some((type) => types.has(type));
  const anyText = [...types].some((type) => type.startsWith('string'));
  switch (learned) {
    case 'BOOLEAN':
      return has('boolean');
    case 'BIGINT':
    case 'HUGEINT':
      return has('integer', 'number');
    case 'DATE':
      return has('string', 'string (date)');
    case 'TIMESTAMPTZ':
      return has('string', 'string (date-time)');
    case 'TIMESTAMP':
      return has('string', 'string (date-time-local)');
    case 'VARCHAR': {
      const isText = anyText && !has('string (date)', 'string (date-time)', 'string (date-time-local)');
      const isSaid = (one: JsonType) =>
        one === 'string' ? isText : has(one, ...(one === 'integer' ? ['number'] : []));
      return seen === undefined ? isText : seen.every(isSaid);
    }
    default:
      return has('number');
  }
}
