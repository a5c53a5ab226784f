import type { ClientColumn } from '../model/client-stream.ts';

type Schema = Readonly<Record<string, unknown>>;

/** Words of a protocol for values that JSON Schema has none for. */
export interface SchemaWords {
  readonly hugeInteger: Schema;
  readonly decimal: Schema;
  readonly timestamp: Schema;
  readonly timestampWithZone: Schema;
}

/** JSON Schema of a column's values as they are sent; without `null` for columns of a key. */
export function describeColumn(column: ClientColumn, isKey: boolean, words: SchemaWords): Schema {
  const { type, ...others } = chooseSchema(column, words);
  const types = Array.isArray(type) ? (type as string[]) : [type];
  return { type: isKey ? type : ['null', ...types], ...others };
}

function chooseSchema({ type, jsonTypes }: ClientColumn, words: SchemaWords): Schema {
  switch (type) {
    case 'BOOLEAN':
      return { type: 'boolean' };
    case 'BIGINT':
      return { type: 'integer' };
    case 'HUGEINT':
      return words.hugeInteger;
    case 'DOUBLE':
      return { type: 'number' };
    case 'DATE':
      return { type: 'string', format: 'date' };
    case 'TIMESTAMP':
      return words.timestamp;
    case 'TIMESTAMPTZ':
      return words.timestampWithZone;
    case 'VARCHAR':
      return { type: 'string' };
    case 'JSON':
      return describeJson(jsonTypes);
    default:
      return words.decimal;
  }
}

/** A column of JSON has objects, lists, or both and scalars. */
function describeJson(jsonTypes: ClientColumn['jsonTypes']): Schema {
  const [only, ...others] = jsonTypes ?? [];
  if (others.length === 0 && (only === 'array' || only === 'object'))
    return { type: only, ...(only === 'array' ? { items: {} } : { additionalProperties: true }) };
  return { type: ['object', 'array', 'string', 'number', 'boolean'] };
}
