import type { ClientStream } from '../model/client-stream.ts';
import { ConfigError } from '../model/errors.ts';
import { describeColumn, type SchemaWords } from './column-schema.ts';
import { isObject } from './delivery-position.ts';

/** Columns that a record has in addition to its data, where the stream has a key. */
export const DELETED_AT = '_ab_cdc_deleted_at';
export const CHANGED_AT = '_ab_cdc_cursor';

const WORDS: SchemaWords = {
  hugeInteger: { type: 'string', airbyte_type: 'big_integer' },
  decimal: { type: 'string', airbyte_type: 'big_number' },
  timestamp: { type: 'string', format: 'date-time', airbyte_type: 'timestamp_without_timezone' },
  timestampWithZone: { type: 'string', format: 'date-time', airbyte_type: 'timestamp_with_timezone' },
};

/** A stream as `discover` describes it. Without a key, only the whole table can be sent. */
export function describeAirbyteStream({ name, columns, key }: ClientStream): object {
  const properties: readonly (readonly [string, unknown])[] = columns.map((column) => [
    column.name,
    describeColumn(column, key?.includes(column.name) ?? false, WORDS),
  ]);
  const changes: readonly (readonly [string, unknown])[] = [
    [CHANGED_AT, { type: ['null', 'integer'] }],
    [DELETED_AT, { ...WORDS.timestampWithZone, type: ['null', 'string'] }],
  ];
  return {
    name,
    json_schema: {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      additionalProperties: true,
      properties: Object.fromEntries(key === undefined ? properties : [...properties, ...changes]),
    },
    supported_sync_modes: key === undefined ? ['full_refresh'] : ['full_refresh', 'incremental'],
    ...(key !== undefined && {
      source_defined_cursor: true,
      default_cursor_field: [CHANGED_AT],
      source_defined_primary_key: key.map((column) => [column]),
    }),
    is_resumable: key !== undefined,
  };
}

/** A stream of a configured catalog. */
export interface WantedStream {
  readonly name: string;
  /** All rows are wanted, whatever was sent before. */
  readonly wantsWhole: boolean;
  /** Fields that the catalog knows; undefined if it names none. */
  readonly fields: ReadonlySet<string> | undefined;
  readonly key: readonly string[] | undefined;
}

/**
 * Reads a configured catalog.
 *
 * @throws ConfigError for one without streams
 */
export function parseAirbyteCatalog(value: unknown): readonly WantedStream[] {
  const streams = isObject(value) && Array.isArray(value['streams']) ? value['streams'] : undefined;
  const wanted = streams?.flatMap((one: unknown) => parseStream(one) ?? []);
  if (wanted !== undefined && wanted.length > 0 && wanted.length === streams?.length) return wanted;
  throw new ConfigError('the catalog is not a configured catalog of Airbyte: it names no streams', {
    code: 'usage_invalid',
    hint: 'It is {"streams": [{"stream": {"name": …}, "sync_mode": "incremental"}]}, made of what `discover` prints.',
  });
}

function parseStream(value: unknown): WantedStream | undefined {
  if (!isObject(value)) return undefined;
  const { stream = value, sync_mode: mode, primary_key: key } = value;
  if (!isObject(stream) || typeof stream['name'] !== 'string') return undefined;
  const schema = stream['json_schema'];
  const properties = isObject(schema) && isObject(schema['properties']) ? schema['properties'] : {};
  const fields = Object.keys(properties);
  return {
    name: stream['name'],
    wantsWhole: mode === 'full_refresh',
    fields: fields.length === 0 ? undefined : new Set(fields),
    key: parseKey(key ?? stream['source_defined_primary_key']),
  };
}

function parseKey(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  return value.map((path: unknown) => (Array.isArray(path) ? path.join('.') : String(path)));
}

/** What a catalog does not have of a stream as it is now: it would be dropped without a word. */
export function findCatalogProblems(stream: ClientStream, { fields, key }: WantedStream): readonly string[] {
  const missing =
    fields === undefined ? [] : stream.columns.map(({ name }) => name).filter((name) => !fields.has(name));
  const hasOtherKey =
    key !== undefined && key.toSorted().join('\n') !== (stream.key ?? []).toSorted().join('\n');
  return [
    ...(missing.length === 0
      ? []
      : [
          `${stream.name}: the catalog does not know ${missing.join(', ')}, which the destination may drop; discover again`,
        ]),
    ...(hasOtherKey
      ? [
          `${stream.name}: the key is ${stream.key === undefined ? 'gone' : `(${stream.key.join(', ')})`}, and the catalog says (${key.join(', ')}); discover again and refresh the stream`,
        ]
      : []),
  ];
}
