import { isObject, type JsonObject } from './find-schema-problems.ts';
import { resolvePointer } from '../json/pointer.ts';

type Says = (part: JsonObject) => boolean;

/** Whether a contract file says that every record has a value in a field, which is named by its path. */
export function isNeverNull(root: JsonObject, path: readonly string[]): boolean {
  return hasMember(root, path, root);
}

function hasMember(json: JsonObject, [name = '', ...rest]: readonly string[], root: JsonObject): boolean {
  const requires: Says = ({ required }) => Array.isArray(required) && required.includes(name);
  const givesValue: Says = ({ properties }) =>
    isObject(properties) && Object.hasOwn(properties, name) && hasValue(properties[name], rest, root);
  return says(json, requires, root) && says(json, givesValue, root);
}

function hasValue(json: unknown, rest: readonly string[], root: JsonObject): boolean {
  if (!isObject(json)) return false;
  if (rest.length === 0) return says(json, excludesNull, root);
  return says(json, isOnlyObject, root) && hasMember(json, rest, root);
}

const excludesNull: Says = (part) =>
  (part['type'] !== undefined && ![part['type']].flat().includes('null')) ||
  (Array.isArray(part['enum']) && !part['enum'].includes(null)) ||
  (part['const'] !== undefined && part['const'] !== null);

const isOnlyObject: Says = ({ type }) => type !== undefined && [type].flat().every((one) => one === 'object');

/** Whether a schema says something of every value, by itself, by what it refers to, or in each of its choices. */
function says(json: JsonObject, test: Says, root: JsonObject, above: readonly JsonObject[] = []): boolean {
  // A schema that contains itself has said all it says.
  if (above.includes(json)) return false;
  const inPart = (part: unknown) => isObject(part) && says(part, test, root, [...above, json]);
  const { $ref: ref, allOf, anyOf, oneOf } = json;
  return (
    test(json) ||
    (typeof ref === 'string' && inPart(resolvePointer(root, ref.slice(1)))) ||
    (Array.isArray(allOf) && allOf.some(inPart)) ||
    [anyOf, oneOf].some((choices) => Array.isArray(choices) && choices.every(inPart))
  );
}
