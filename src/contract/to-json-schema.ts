import type { FieldNotes } from '../model/schema.ts';
import type { ColumnType, JsonType } from '../model/schema.ts';
import { type FindNotes, readNotes } from './field-notes.ts';
import { companionSource, toFieldName } from '../schema/field-paths.ts';

/** A field as its records showed it: what its values are, and whether every record has one. */
export interface ContractField {
  /** Members' names from the record's root, as in `LearnedColumn`. */
  readonly path: readonly string[];
  readonly type: ColumnType;
  /** JSON types its values had; undefined where nobody remembers. */
  readonly jsonTypes?: readonly JsonType[] | undefined;
  /** Every record has the field, and not as null. */
  readonly required: boolean;
  /** Some record has null for it. */
  readonly nullable: boolean;
  /** A sentence for readers of the file. */
  readonly description?: string | undefined;
  /** The only values it may have, where somebody asked for them. */
  readonly values?: readonly (string | number | boolean)[] | undefined;
}

const SCHEMA_DIALECT = 'https://json-schema.org/draft/2020-12/schema';

/**
 * The JSON Schema of one record, as `contracts/<stream>.schema.json` holds it; nested fields are nested objects.
 *
 * @param findNotes what people wrote about fields
 */
export function toJsonSchema(
  stream: string,
  fields: readonly ContractField[],
  findNotes: FindNotes = readNotes(undefined),
): Readonly<Record<string, unknown>> {
  const root: Node = { field: undefined, members: new Map(), notes: findNotes([]) };
  for (const field of fields) {
    // A companion is a column of ours, not a field of the record.
    if (companionSource(field.path) === undefined) addField(root, field, findNotes);
  }
  const about = { ...writeNotes(root.notes), type: 'object' };
  return { $schema: SCHEMA_DIALECT, title: stream, ...about, ...describeMembers(root) };
}

interface Node {
  field: ContractField | undefined;
  readonly members: Map<string, Node>;
  readonly notes: FieldNotes;
}

function addField(root: Node, field: ContractField, findNotes: FindNotes): void {
  let node = root;
  const names = field.path.map(toFieldName);
  for (const [at, name] of names.entries()) {
    let next = node.members.get(name);
    if (next === undefined) {
      next = { field: undefined, members: new Map(), notes: findNotes(names.slice(0, at + 1)) };
      node.members.set(name, next);
    }
    node = next;
  }
  node.field = field;
}

function describeMembers({ members }: Node): Readonly<Record<string, unknown>> {
  const required = [...members].filter(([, node]) => isRequired(node)).map(([name]) => name);
  return {
    // From entries: a field may be called `__proto__`.
    properties: Object.fromEntries([...members].map(([name, node]) => [name, describeNode(node)])),
    ...(required.length === 0 ? {} : { required }),
  };
}

function isRequired({ field, members }: Node): boolean {
  return field === undefined ? [...members.values()].some(isRequired) : field.required;
}

function describeNode(node: Node): Readonly<Record<string, unknown>> {
  const { field, members, notes } = node;
  const own = field === undefined ? undefined : describeType(field);
  if (members.size === 0)
    return {
      ...withNull(own ?? {}, field?.nullable ?? true),
      ...describeExtras(field),
      ...writeNotes(notes),
    };
  // What every record has a member of is never null.
  const object = withNull({ type: 'object' }, !isRequired(node));
  if (own === undefined) return { ...object, ...writeNotes(notes), ...describeMembers(node) };
  // Objects in some records, something else in others.
  const types = [own['type'], object['type']].flat().filter((type) => type !== undefined);
  const mixed = own['type'] === undefined ? {} : { type: [...new Set([...types, 'null'])] };
  return { ...mixed, ...describeExtras(field), ...writeNotes(notes), ...describeMembers(node) };
}

function describeExtras(field: ContractField | undefined): Readonly<Record<string, unknown>> {
  const { description, values } = field ?? {};
  const listed = values !== undefined && field?.nullable === true ? [...values, null] : values;
  return {
    ...(description === undefined ? {} : { description }),
    ...(listed === undefined ? {} : { enum: listed }),
  };
}

function writeNotes({ description, unit }: FieldNotes): Readonly<Record<string, string>> {
  return {
    ...(description === undefined ? {} : { description }),
    ...(unit === undefined ? {} : { unit }),
  };
}

function withNull(
  schema: Readonly<Record<string, unknown>>,
  nullable: boolean,
): Readonly<Record<string, unknown>> {
  const { type } = schema;
  return nullable && type !== undefined ? { ...schema, type: [type, 'null'].flat() } : schema;
}

/** What JSON Schema says of a column's type; nothing for one that holds anything. */
function describeType({ type, jsonTypes }: ContractField): Readonly<Record<string, unknown>> {
  switch (type) {
    case 'NULL':
    case 'JSON':
      return {};
    case 'BOOLEAN':
      return { type: 'boolean' };
    case 'BIGINT':
    case 'HUGEINT':
      return { type: 'integer' };
    case 'DATE':
      return { type: 'string', format: 'date' };
    case 'TIMESTAMPTZ':
      return { type: 'string', format: 'date-time' };
    case 'TIMESTAMP':
      return { type: 'string', format: 'date-time-local' };
    case 'VARCHAR':
      // Numbers and booleans may be in it as well.
      return { type: single(jsonTypes?.filter(isScalar) ?? ['string', 'number', 'boolean']) };
    default:
      return { type: 'number' };
  }
}

function isScalar(type: JsonType): boolean {
  return type !== 'array' && type !== 'object';
}

function single(types: readonly JsonType[]): JsonType | readonly JsonType[] {
  const [only = 'string'] = types;
  return types.length > 1 ? types : only;
}
