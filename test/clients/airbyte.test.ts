import { describe, expect, it } from 'vitest';
import {
  describeAirbyteStream,
  findCatalogProblems,
  parseAirbyteCatalog,
} from '../../src/clients/airbyte-catalog.ts';
import { createRecordWriter, stateMessage, statusMessage } from '../../src/clients/airbyte-messages.ts';
import { parseAirbyteState } from '../../src/clients/airbyte-state.ts';
import type { ClientStream } from '../../src/model/client-stream.ts';

const stream: ClientStream = {
  name: 'items',
  table: 'items',
  columns: [
    { name: 'id', type: 'BIGINT' },
    { name: 'day', type: 'DATE' },
    { name: 'huge', type: 'HUGEINT' },
    { name: 'tags', type: 'JSON', jsonTypes: ['array'] },
    { name: 'any', type: 'JSON', jsonTypes: ['array', 'object'] },
    { name: 'at', type: 'TIMESTAMPTZ' },
  ],
  key: ['id'],
  cursor: 'day',
  masks: '',
};

describe('a stream in the catalog of Airbyte', () => {
  it('has every column with its type, and those of changes', () => {
    expect(describeAirbyteStream(stream)).toMatchObject({
      supported_sync_modes: ['full_refresh', 'incremental'],
      source_defined_primary_key: [['id']],
      default_cursor_field: ['_ab_cdc_cursor'],
      json_schema: {
        properties: {
          id: { type: 'integer' },
          day: { type: ['null', 'string'], format: 'date' },
          huge: { type: ['null', 'string'], airbyte_type: 'big_integer' },
          tags: { type: ['null', 'array'] },
          any: { type: ['null', 'object', 'array', 'string', 'number', 'boolean'] },
          at: { format: 'date-time', airbyte_type: 'timestamp_with_timezone' },
          _ab_cdc_deleted_at: { type: ['null', 'string'], format: 'date-time' },
        },
      },
    });
  });

  it('can only be sent whole without a key', () => {
    const described = describeAirbyteStream({ ...stream, key: undefined });
    expect(described).toMatchObject({ supported_sync_modes: ['full_refresh'] });
    expect(described).not.toHaveProperty('source_defined_primary_key');
    expect(described).not.toHaveProperty('default_cursor_field');
  });

  it('that is configured from an older one is reported with what it does not know', () => {
    const described = { name: 'items', json_schema: { properties: { id: {}, day: {} } } };
    const configured = { stream: described, sync_mode: 'incremental', primary_key: [['day']] };
    const [wanted] = parseAirbyteCatalog({ streams: [configured] });
    expect(wanted).toMatchObject({ name: 'items', wantsWhole: false, key: ['day'] });
    const problems = wanted === undefined ? [] : findCatalogProblems(stream, wanted);
    expect(problems[0]).toContain('does not know huge, tags, any, at');
    expect(problems[1]).toContain('the key is (id), and the catalog says (day)');
  });

  it.each([undefined, {}, { streams: [] }, { streams: [{}] }])('is not in %j', (value) => {
    expect(() => parseAirbyteCatalog(value)).toThrow('it names no streams');
  });
});

describe('a state of Airbyte', () => {
  const position = { log: 'one', version: 12, without: ['extra'] };
  const message = stateMessage('items', position, 3)['state'];

  it.each<[string, unknown]>([
    ['as it was written', [message]],
    ['in its envelope', [{ type: 'STATE', state: message }]],
    ['alone', message],
    [
      'with what platforms add, and floats',
      [
        {
          type: 'STREAM',
          global_: null,
          data: null,
          sourceStats: { recordCount: 3.0 },
          stream: {
            stream_descriptor: { name: 'items', namespace: null },
            stream_state: { log: 'one', version: '12.0', without: ['extra'], more: 1 },
          },
        },
      ],
    ],
  ])('is read %s', (_, value) => {
    const { positions, ignored } = parseAirbyteState(value);
    expect(Object.fromEntries(positions)).toEqual({ items: position });
    expect(ignored).toEqual([]);
  });

  it.each([undefined, [], {}, [{}]])('is empty as %j', (value) => {
    expect(parseAirbyteState(value)).toEqual({ positions: new Map(), ignored: [] });
  });

  it('of another tool is named, and its stream is sent again', () => {
    const foreign = { stream_descriptor: { name: 'items' }, stream_state: { cursor: '2026-01-01' } };
    const { positions, ignored } = parseAirbyteState([
      { type: 'STREAM', stream: foreign },
      { type: 'LEGACY', data: { items: 1 } },
      { bookmarks: {} },
      'text',
    ]);
    expect(positions.size).toBe(0);
    expect(ignored).toEqual([
      'the state of items',
      'a state of type LEGACY',
      'a part of the state',
      'a part of the state',
    ]);
  });
});

describe('a record of Airbyte', () => {
  it('has its values as they came, and the time at which it was deleted', () => {
    const write = createRecordWriter('items', { version: 7, isKeyed: true, nowMs: 1 });
    expect(write({ members: '"id":9007199254740993', deletedAt: undefined })).toBe(
      '{"type":"RECORD","record":{"stream":"items","data":{"id":9007199254740993,"_ab_cdc_cursor":7,"_ab_cdc_deleted_at":null},"emitted_at":1}}\n',
    );
    expect(write({ members: '"id":1', deletedAt: '2026-01-01T00:00:00Z' })).toContain(
      '"_ab_cdc_deleted_at":"2026-01-01T00:00:00Z"}',
    );
    const plain = createRecordWriter('items', { version: 7, isKeyed: false, nowMs: 1 });
    expect(plain({ members: '', deletedAt: undefined })).toContain('"data":{}');
  });

  it('of a stream that the quota stopped is followed by when it is full again', () => {
    expect(statusMessage('items', 'INCOMPLETE', { nowMs: 1, quotaReset: 2 })).toMatchObject({
      trace: { stream_status: { reasons: [{ type: 'RATE_LIMITED', rate_limited: { quota_reset: 2 } }] } },
    });
    expect(statusMessage('items', 'COMPLETE', { nowMs: 1 })['trace']).not.toHaveProperty(
      'stream_status.reasons',
    );
  });
});
