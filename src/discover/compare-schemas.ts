import { canonicalText } from '../json/fingerprint.ts';

type Json = Readonly<Record<string, unknown>>;

/** How one contract differs from another, a line each; nothing when they say the same. */
export function compareSchemas(before: unknown, after: Json): readonly string[] {
  if (canonicalText(before) === canonicalText(after)) return [];
  const old = listFields(before);
  const found = listFields(after);
  const lines = [
    ...[...found.keys()].filter((field) => !old.has(field)).map((field) => `${field} is not in the file`),
    ...[...old.keys()].filter((field) => !found.has(field)).map((field) => `${field} was not found`),
    ...[...found].flatMap(([field, now]) => {
      const then = old.get(field);
      return then === undefined || then === now ? [] : [`${field} is ${then} in the file, found: ${now}`];
    }),
  ];
  return lines.length === 0 ? ['other keywords differ'] : lines;
}

/** What a schema says of each field, in words, by its name with dots. */
function listFields(schema: unknown, above = ''): ReadonlyMap<string, string> {
  const { properties, required } = toJson(schema);
  const needed = Array.isArray(required) ? required : [];
  return new Map(
    Object.entries(toJson(properties)).flatMap(([name, property]): (readonly [string, string])[] => {
      const field = `${above}${name}`;
      const inner = [...listFields(property, `${field}.`)];
      const words = describe(property, needed.includes(name));
      return inner.length === 0 ? [[field, words]] : [[field, words], ...inner];
    }),
  );
}

function describe(property: unknown, isRequired: boolean): string {
  const { type, format } = toJson(property);
  const types = [type ?? 'anything'].flat().map(String);
  return [
    `${types.join(' or ')}${typeof format === 'string' ? ` (${format})` : ''}`,
    ...(isRequired ? ['required'] : []),
  ].join(', ');
}

function toJson(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}
