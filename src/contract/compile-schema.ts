import { z } from 'zod';
import { canonicalText } from '../json/fingerprint.ts';
import { compileArray, compileObject, type CompileSchema } from './compile-fields.ts';
import { compileNumber, compileText } from './compile-scalars.ts';
import { isObject, type JsonObject } from './find-schema-problems.ts';
import { resolvePointer } from '../json/pointer.ts';
import { type CheckPayload, forwardIssues, isTypeIssue, reportIssue, toViolation } from './report-issue.ts';
import { describeKind, kindOfValue, type ValueKind, valueKinds } from './value-kinds.ts';
import type { Violation } from './violation.ts';

/** Checks one record against a contract file; returns an empty list if it fits. */
export type ValidateRecord = (record: unknown) => readonly Violation[];

interface Context {
  readonly root: JsonObject;
  readonly refs: Map<string, z.ZodType>;
}

/**
 * Compiles a JSON Schema, in which `findSchemaProblems` found none, to zod. Numbers are compared by their
 * decimal value and lengths counted in code points; nothing is coerced and no default filled in.
 */
export function compileSchema(json: JsonObject): ValidateRecord {
  const type = compileNode(json, { root: json, refs: new Map() });
  return (record) => {
    const result = type.safeParse(record);
    return result.success ? [] : result.error.issues.map(toViolation);
  };
}

function compileNode(json: unknown, context: Context): z.ZodType {
  if (!isObject(json)) return json === false ? refuseAll : z.unknown();
  const parts = [
    compileTypes(json, (part) => compileNode(part, context)),
    json['enum'] === undefined ? undefined : compileEnum(json['enum'] as readonly unknown[]),
    json['const'] === undefined ? undefined : compileEnum([json['const']]),
    typeof json['$ref'] === 'string' ? compileRef(json['$ref'], context) : undefined,
    ...listSchemas(json['allOf']).map((part) => compileNode(part, context)),
    compileAnyOf(json['anyOf'], context),
    compileOneOf(json['oneOf'], context),
  ].filter((part) => part !== undefined);
  return combine(parts);
}

/** A type for what all of the parts allow. Each is asked, since a wrong type may be let through and a wrong value not. */
function combine(parts: readonly z.ZodType[]): z.ZodType {
  const [first] = parts;
  if (first === undefined) return z.unknown();
  if (parts.length === 1) return first;
  return z.unknown().check((payload) => {
    for (const part of parts) forwardIssues(part, payload);
  });
}

function compileTypes(json: JsonObject, compile: CompileSchema): z.ZodType | undefined {
  const types = json['type'] === undefined ? undefined : [json['type']].flat().map(String);
  const kinds = valueKinds.filter((kind) => types === undefined || allows(types, kind));
  const branches = new Map(kinds.map((kind) => [kind, compileKind(kind, json, types, compile)] as const));
  if (types === undefined && [...branches.values()].every((branch) => branch === undefined)) return undefined;
  const others = kinds.filter((kind) => kind !== 'null');
  const [only] = others;
  const branch = only && branches.get(only);
  // The usual ones are left to zod, which reads them without a detour.
  if (types !== undefined && others.length === 1 && branch !== undefined)
    return kinds.length === 2 ? z.nullable(branch) : branch;
  const expected = (types ?? []).join(' or ');
  return z.unknown().check((payload) => {
    const kind = kindOfValue(payload.value);
    if (!branches.has(kind)) {
      reportIssue(payload, 'type', `expected ${expected}, got ${describeKind(payload.value)}`);
      return;
    }
    const chosen = branches.get(kind);
    if (chosen !== undefined) forwardIssues(chosen, payload);
  });
}

function allows(types: readonly string[], kind: ValueKind): boolean {
  return types.includes(kind) || (kind === 'number' && types.includes('integer'));
}

/** What a schema asks of one kind of value; undefined where it asks nothing but the kind. */
function compileKind(
  kind: ValueKind,
  json: JsonObject,
  types: readonly string[] | undefined,
  compile: CompileSchema,
): z.ZodType | undefined {
  const isAsked = types !== undefined;
  switch (kind) {
    case 'number':
      return compileNumber(json, isAsked && !types.includes('number'), isAsked);
    case 'string':
      return compileText(json, isAsked);
    case 'boolean':
      return isAsked
        ? z.boolean({ error: ({ input }) => `expected boolean, got ${describeKind(input)}` })
        : undefined;
    case 'null':
      return undefined;
    case 'array':
      return compileArray(json, isAsked, compile);
    case 'object':
      return compileObject(json, isAsked, compile);
  }
}

const refuseAll = z.unknown().check((payload) => {
  reportIssue(payload, 'rule', 'no value is allowed here');
});

function compileEnum(values: readonly unknown[]): z.ZodType {
  const known = new Set(values.map(canonicalText));
  const listed = values.slice(0, 5).map((value) => canonicalText(value).slice(0, 40));
  const more = values.length > listed.length ? `, … (${values.length} values)` : '';
  return z.unknown().check((payload) => {
    if (!known.has(canonicalText(payload.value)))
      reportIssue(payload, 'rule', `is not one of ${listed.join(', ')}${more}`);
  });
}

function compileRef(ref: string, context: Context): z.ZodType {
  const known = context.refs.get(ref);
  if (known !== undefined) return known;
  // A description may contain itself: what is being compiled is looked up when the first value comes.
  context.refs.set(
    ref,
    z.lazy(() => context.refs.get(ref) ?? z.unknown()),
  );
  const compiled = compileNode(resolvePointer(context.root, ref.slice(1)), context);
  context.refs.set(ref, compiled);
  return compiled;
}

function compileAnyOf(json: unknown, context: Context): z.ZodType | undefined {
  if (json === undefined) return undefined;
  const parts = listSchemas(json).map((part) => compileNode(part, context));
  return z.unknown().check((payload) => {
    reportNoMatch(parts, payload);
  });
}

function compileOneOf(json: unknown, context: Context): z.ZodType | undefined {
  if (json === undefined) return undefined;
  const parts = listSchemas(json).map((part) => compileNode(part, context));
  return z.unknown().check((payload) => {
    const matches = parts.filter((part) => part.safeParse(payload.value).success).length;
    if (matches === 0) reportNoMatch(parts, payload);
    else if (matches > 1) reportIssue(payload, 'rule', `matches ${matches} of the schemas under oneOf`);
  });
}

/** Where only one description is for values of this type, what is wrong by it says more than that none fits. */
function reportNoMatch(parts: readonly z.ZodType[], payload: CheckPayload): void {
  const results = parts.map((part) => part.safeParse(payload.value));
  if (results.some(({ success }) => success)) return;
  const close = parts.filter((_, at) => {
    const issues = results[at]?.error?.issues ?? [];
    return !issues.some((issue) => issue.path.length === 0 && isTypeIssue(issue));
  });
  const [only] = close;
  if (only !== undefined && close.length === 1) forwardIssues(only, payload);
  else if (close.length === 0)
    reportIssue(payload, 'type', `no schema under anyOf allows ${describeKind(payload.value)}`);
  else reportIssue(payload, 'rule', 'matches no schema under anyOf');
}

function listSchemas(json: unknown): readonly unknown[] {
  return Array.isArray(json) ? (json as readonly unknown[]) : [];
}
