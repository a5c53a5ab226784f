import { resolvePointer } from '../json/pointer.ts';
import { suggestName } from '../text/suggest-name.ts';
import { isJsonNumber } from '../json/exact-number.ts';
import { writeNumber } from './exact-arithmetic.ts';
import { checkedFormats } from './formats.ts';

/** What keeps a contract file from being honoured, and where in the file. */
export interface SchemaProblem {
  /** JSON pointer into the file; empty for the file as a whole. */
  readonly pointer: string;
  readonly message: string;
}

export type JsonObject = Readonly<Record<string, unknown>>;

const DIALECTS = [
  'https://json-schema.org/draft/2020-12/schema',
  'https://json-schema.org/draft/2019-09/schema',
  'http://json-schema.org/draft-07/schema',
  'http://json-schema.org/draft-06/schema',
];

const TYPES = ['string', 'number', 'integer', 'boolean', 'null', 'object', 'array'];
const MOST_PROBLEMS = 20;
// Nobody describes a record with deeper nesting.
const MOST_LEVELS = 100;

type Check = (value: unknown, pointer: string, level: number, context: Context) => readonly SchemaProblem[];

interface Context {
  readonly root: JsonObject;
}

const schema: Check = (value, pointer, level, context) => findProblemsIn(value, pointer, level + 1, context);
const schemaOrBoolean: Check = (value, pointer, level, context) =>
  typeof value === 'boolean' ? [] : schema(value, pointer, level, context);

const schemaMap: Check = (value, pointer, level, context) =>
  isObject(value)
    ? Object.entries(value).flatMap(([name, part]) =>
        schema(part, `${pointer}/${escapePart(name)}`, level, context),
      )
    : [{ pointer, message: 'must be an object of schemas' }];

const schemaList: Check = (value, pointer, level, context) =>
  Array.isArray(value) && value.length > 0
    ? value.flatMap((part, at) => schema(part, `${pointer}/${at}`, level, context))
    : [{ pointer, message: 'must be a non-empty list of schemas' }];

/** A check that only looks at the value. */
function expectThat(isRight: (value: unknown) => boolean, message: string): Check {
  return (value, pointer) => (isRight(value) ? [] : [{ pointer, message }]);
}

const anything = expectThat(() => true, '');
const text = expectThat((value) => typeof value === 'string', 'must be text');
const number = expectThat(isJsonNumber, 'must be a number');
const count = expectThat(
  (value) => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0,
  'must be a whole number, 0 or more',
);

// Every keyword that is honoured, and those that only describe. What is not here is refused by name.
const keywords = new Map<string, Check>([
  [
    '$schema',
    expectThat(
      (value) => typeof value === 'string' && DIALECTS.includes(value.replace(/#$/, '')),
      `must be ${DIALECTS[0] ?? ''}, or one of the drafts 2019-09, 7 and 6`,
    ),
  ],
  ['$id', text],
  ['$comment', text],
  ['$defs', schemaMap],
  ['definitions', schemaMap],
  ['$ref', findRefProblems],
  ['title', text],
  ['description', text],
  ['unit', text],
  ['default', anything],
  ['examples', anything],
  ['deprecated', anything],
  ['readOnly', anything],
  ['writeOnly', anything],
  [
    'type',
    expectThat(
      (value) => [value].flat().every((one) => TYPES.includes(one as string)) && [value].flat().length > 0,
      `must be one or a list of ${TYPES.join(', ')}`,
    ),
  ],
  ['enum', expectThat((value) => Array.isArray(value) && value.length > 0, 'must list a value')],
  ['const', anything],
  ['properties', schemaMap],
  [
    'required',
    expectThat(
      (value) => Array.isArray(value) && value.every((name) => typeof name === 'string'),
      'must be a list of names',
    ),
  ],
  ['additionalProperties', schemaOrBoolean],
  ['minProperties', count],
  ['maxProperties', count],
  ['items', schemaOrBoolean],
  ['minItems', count],
  ['maxItems', count],
  ['uniqueItems', expectThat((value) => typeof value === 'boolean', 'must be true or false')],
  ['minLength', count],
  ['maxLength', count],
  ['pattern', findPatternProblems],
  [
    'format',
    expectThat(
      (value) => typeof value === 'string' && checkedFormats.includes(value),
      `must be a supported format: ${checkedFormats.join(', ')}; write others as a pattern`,
    ),
  ],
  ['minimum', number],
  ['maximum', number],
  ['exclusiveMinimum', number],
  ['exclusiveMaximum', number],
  [
    'multipleOf',
    expectThat(
      (value) => isJsonNumber(value) && !writeNumber(value).startsWith('-') && Number(writeNumber(value)) > 0,
      'must be a number above 0',
    ),
  ],
  ['allOf', schemaList],
  ['anyOf', schemaList],
  ['oneOf', schemaList],
]);

/** Everything in a JSON Schema that cannot be honoured; ignoring it would promise what is not kept. */
export function findSchemaProblems(json: unknown): readonly SchemaProblem[] {
  if (!isObject(json)) return [{ pointer: '', message: 'must hold a JSON Schema, which is an object' }];
  const { type } = json;
  if (type !== undefined && ![type].flat().includes('object'))
    return [{ pointer: '/type', message: 'must be object: it describes one record' }];
  return findProblemsIn(json, '', 0, { root: json }).slice(0, MOST_PROBLEMS);
}

function findProblemsIn(
  json: unknown,
  pointer: string,
  level: number,
  context: Context,
): readonly SchemaProblem[] {
  if (typeof json === 'boolean') return [];
  if (!isObject(json)) return [{ pointer, message: 'must be a schema: an object, true or false' }];
  if (level > MOST_LEVELS) return [{ pointer, message: `is more than ${MOST_LEVELS} levels deep` }];
  return Object.entries(json).flatMap(([keyword, value]) => {
    const at = `${pointer}/${escapePart(keyword)}`;
    const check = keywords.get(keyword);
    if (check !== undefined) return check(value, at, level, context);
    // What somebody else's tools read.
    if (keyword.startsWith('x-')) return [];
    return [
      {
        pointer: at,
        message: `"${keyword}" is not a supported keyword${suggestName(keyword, [...keywords.keys()])}`,
      },
    ];
  });
}

function findRefProblems(
  value: unknown,
  pointer: string,
  _level: number,
  { root }: Context,
): readonly SchemaProblem[] {
  if (typeof value !== 'string' || !/^#(\/|$)/.test(value))
    return [{ pointer, message: 'must point into this file, e.g. #/$defs/name' }];
  if (resolvePointer(root, value.slice(1)) === undefined)
    return [{ pointer, message: `points to nothing: ${value}` }];
  return hasEndlessRef(root, value) ? [{ pointer, message: `leads back to itself: ${value}` }] : [];
}

/** A schema that is nothing but a reference to itself describes nothing, and following it would not end. */
function hasEndlessRef(root: JsonObject, first: string): boolean {
  const seen = new Set<string>();
  let ref: unknown = first;
  while (typeof ref === 'string') {
    if (seen.has(ref)) return true;
    seen.add(ref);
    const target = resolvePointer(root, ref.slice(1));
    ref = isObject(target) ? target['$ref'] : undefined;
  }
  return false;
}

function findPatternProblems(value: unknown, pointer: string): readonly SchemaProblem[] {
  if (typeof value !== 'string') return [{ pointer, message: 'must be text' }];
  try {
    compilePattern(value);
    return [];
  } catch (error) {
    return [{ pointer, message: `is not a regular expression: ${(error as Error).message}` }];
  }
}

/** A `pattern` as JSON Schema means it: found anywhere in the text, by code points. */
export function compilePattern(pattern: string): RegExp {
  return new RegExp(pattern, 'u');
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isJsonNumber(value);
}

function escapePart(part: string): string {
  return part.replaceAll('~', '~0').replaceAll('/', '~1');
}
