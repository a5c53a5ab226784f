import type { ClientStream } from '../model/client-stream.ts';
import { ConfigError } from '../model/errors.ts';
import { describeColumn, type SchemaWords } from './column-schema.ts';
import { isObject } from './delivery-position.ts';

/** The time at which a row was deleted, as log-based taps send it. */
export const DELETED_AT = '_sdc_deleted_at';

const WORDS: SchemaWords = {
  // Numbers that targets would round or overflow, as exact text.
  hugeInteger: { type: 'string' },
  decimal: { type: 'string' },
  // Without a zone it is not a date-time of JSON Schema.
  timestamp: { type: 'string' },
  timestampWithZone: { type: 'string', format: 'date-time' },
};

type Schema = Readonly<Record<string, unknown>>;

/** The schema of a stream's records, with these columns. */
export function describeSingerSchema({ columns, key }: ClientStream, names?: readonly string[]): Schema {
  const chosen = columns.filter(({ name }) => names?.includes(name) ?? true);
  const properties = chosen.map((column) => [
    column.name,
    describeColumn(column, key?.includes(column.name) ?? false, WORDS),
  ]);
  const deleted = [DELETED_AT, { type: ['null', 'string'], format: 'date-time' }];
  return {
    type: 'object',
    properties: Object.fromEntries(key === undefined ? properties : [...properties, deleted]),
  };
}

/** A stream as `--discover` lists it. */
export function describeSingerStream(stream: ClientStream): Schema {
  const { name, key, columns } = stream;
  const keyProperties = key ?? [];
  return {
    tap_stream_id: name,
    stream: name,
    key_properties: keyProperties,
    replication_method: nameMethod(stream),
    schema: describeSingerSchema(stream),
    metadata: [
      {
        breadcrumb: [],
        metadata: {
          inclusion: 'available',
          selected: true,
          'table-key-properties': keyProperties,
          'forced-replication-method': nameMethod(stream),
          'valid-replication-keys': [],
        },
      },
      ...columns.map((column) => ({
        breadcrumb: ['properties', column.name],
        metadata: keyProperties.includes(column.name)
          ? { inclusion: 'automatic' }
          : { inclusion: 'available', selected: true },
      })),
    ],
  };
}

/** Changes by key, or the whole table where rows cannot be told apart. */
function nameMethod({ key }: ClientStream): string {
  return key === undefined ? 'FULL_TABLE' : 'LOG_BASED';
}

/** A stream that a catalog selects. */
export interface SelectedStream {
  readonly name: string;
  /** Fields that it leaves out. */
  readonly excluded: ReadonlySet<string>;
}

/**
 * Reads which streams and fields of a catalog are selected.
 *
 * @throws ConfigError for something else than a catalog
 */
export function parseSingerCatalog(value: unknown): readonly SelectedStream[] {
  const streams = isObject(value) && Array.isArray(value['streams']) ? value['streams'] : undefined;
  if (streams === undefined)
    throw new ConfigError('the catalog is not one of Singer: it has no streams', {
      code: 'usage_invalid',
      hint: 'It is what --discover prints, with "selected" set in the metadata of streams and fields.',
    });
  return streams.flatMap((one: unknown) => parseStream(one) ?? []);
}

function parseStream(value: unknown): SelectedStream | undefined {
  const name = isObject(value) ? (value['tap_stream_id'] ?? value['stream']) : undefined;
  if (!isObject(value) || typeof name !== 'string')
    throw new ConfigError('the catalog is not one of Singer: a stream in it has no tap_stream_id', {
      code: 'usage_invalid',
      hint: 'It is what --discover prints. A catalog of Airbyte is for source-sluice read. Nothing was requested.',
    });
  const entries = (Array.isArray(value['metadata']) ? value['metadata'] : []).filter(isObject);
  const own = entries.find(({ breadcrumb }) => Array.isArray(breadcrumb) && breadcrumb.length === 0);
  if (!isSelected(own?.['metadata'], value['selected'] === true)) return undefined;
  const excluded = entries.flatMap(({ breadcrumb, metadata }) => {
    const [first, field] = Array.isArray(breadcrumb) ? (breadcrumb as unknown[]) : [];
    return first === 'properties' && typeof field === 'string' && !isSelected(metadata, true) ? [field] : [];
  });
  return { name, excluded: new Set(excluded) };
}

function isSelected(metadata: unknown, fallback: boolean): boolean {
  if (!isObject(metadata)) return fallback;
  const { inclusion, selected } = metadata;
  if (inclusion === 'automatic') return true;
  if (inclusion === 'unsupported') return false;
  return (selected ?? metadata['selected-by-default'] ?? fallback) === true;
}
