import { z } from 'zod';
import { canonicalText } from '../json/fingerprint.ts';
import { isObject, type JsonObject } from './find-schema-problems.ts';
import { type CheckPayload, forwardIssues, reportIssue } from './report-issue.ts';
import { describeKind, kindOfValue } from './value-kinds.ts';
import { formatCountOf } from '../text/format-count.ts';

/** Compiles one schema of the file. */
export type CompileSchema = (json: unknown) => z.ZodType;

/** What a schema asks of lists; undefined where it asks nothing and does not name the type. */
export function compileArray(
  json: JsonObject,
  isAsked: boolean,
  compile: CompileSchema,
): z.ZodType | undefined {
  const { items, minItems, maxItems, uniqueItems } = json;
  const hasRules = [items, minItems, maxItems, uniqueItems].some((value) => value !== undefined);
  if (!isAsked && !hasRules) return undefined;
  const item = items === undefined ? z.unknown() : compile(items);
  const type = z.array(item, { error: ({ input }) => `expected array, got ${describeKind(input)}` });
  return z.unknown().check((payload) => {
    const { value } = payload;
    forwardIssues(type, payload);
    if (!Array.isArray(value)) return;
    if (typeof minItems === 'number' && value.length < minItems)
      reportIssue(payload, 'rule', `has ${formatCountOf(value.length, 'item')}, fewer than ${minItems}`);
    if (typeof maxItems === 'number' && value.length > maxItems)
      reportIssue(payload, 'rule', `has ${formatCountOf(value.length, 'item')}, more than ${maxItems}`);
    if (uniqueItems === true && new Set(value.map(canonicalText)).size < value.length)
      reportIssue(payload, 'rule', 'has an item twice');
  });
}

/** The same for objects. */
export function compileObject(
  json: JsonObject,
  isAsked: boolean,
  compile: CompileSchema,
): z.ZodType | undefined {
  const names = ['properties', 'required', 'additionalProperties', 'minProperties', 'maxProperties'];
  if (!isAsked && names.every((name) => json[name] === undefined)) return undefined;
  const properties = new Map(
    Object.entries(isObject(json['properties']) ? json['properties'] : {}).map(([name, part]) => [
      name,
      compile(part),
    ]),
  );
  const fields = compileMembers([...properties].filter(([name]) => !isInherited(name)));
  const inherited = [...properties].filter(([name]) => isInherited(name));
  const rules = listObjectRules(json, properties, compile);
  return z.unknown().check((payload) => {
    const { value } = payload;
    if (kindOfValue(value) !== 'object') {
      reportIssue(payload, 'type', `expected object, got ${describeKind(value)}`);
      return;
    }
    const object = value as JsonObject;
    for (const part of fields) forwardIssues(part, payload);
    for (const [name, type] of inherited)
      if (Object.hasOwn(object, name)) forwardIssues(type, payload, object[name], [name]);
    for (const rule of rules) rule(object, payload);
  });
}

// zod makes a function of each object, and one of thousands of fields is more than the runtime optimises.
const FIELDS_AT_ONCE = 64;

// Not `looseObject`: nobody looks at the result, so members without a description need not be copied into it.
function compileMembers(members: readonly (readonly [string, z.ZodType])[]): readonly z.ZodType[] {
  const parts: z.ZodType[] = [];
  for (let at = 0; at < members.length; at += FIELDS_AT_ONCE) {
    const some = members.slice(at, at + FIELDS_AT_ONCE);
    parts.push(z.object(Object.fromEntries(some.map(([name, type]) => [name, z.optional(type)]))));
  }
  return parts;
}

// A record without a member called `constructor` still answers to the name.
function isInherited(name: string): boolean {
  return name in Object.prototype;
}

type ObjectRule = (object: JsonObject, payload: CheckPayload) => void;

function listObjectRules(
  json: JsonObject,
  properties: ReadonlyMap<string, z.ZodType>,
  compile: CompileSchema,
): readonly ObjectRule[] {
  const { required, additionalProperties, minProperties, maxProperties } = json;
  const rules: ObjectRule[] = [];
  if (Array.isArray(required)) {
    const names = required as readonly string[];
    rules.push((object, payload) => {
      for (const name of names)
        if (!Object.hasOwn(object, name)) reportIssue(payload, 'required', 'is missing', [name]);
    });
  }
  if (additionalProperties === false) {
    rules.push((object, payload) => {
      for (const name of Object.keys(object))
        if (!properties.has(name)) reportIssue(payload, 'closed', 'is not a field of the contract', [name]);
    });
  } else if (isObject(additionalProperties)) {
    const type = compile(additionalProperties);
    rules.push((object, payload) => {
      for (const name of Object.keys(object))
        if (!properties.has(name)) forwardIssues(type, payload, object[name], [name]);
    });
  }
  if (typeof minProperties === 'number')
    rules.push((object, payload) => {
      const count = Object.keys(object).length;
      if (count < minProperties)
        reportIssue(payload, 'rule', `has ${formatCountOf(count, 'member')}, fewer than ${minProperties}`);
    });
  if (typeof maxProperties === 'number')
    rules.push((object, payload) => {
      const count = Object.keys(object).length;
      if (count > maxProperties)
        reportIssue(payload, 'rule', `has ${formatCountOf(count, 'member')}, more than ${maxProperties}`);
    });
  return rules;
}
