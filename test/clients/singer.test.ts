import { describe, expect, it } from 'vitest';
import { describeSingerStream, parseSingerCatalog } from '../../src/clients/singer-catalog.ts';
import {
  activateMessage,
  createSingerWriter,
  schemaMessage,
  singerCatalog,
  singerState,
} from '../../src/clients/singer-messages.ts';
import { parseSingerState } from '../../src/clients/singer-state.ts';
import type { ClientStream } from '../../src/model/client-stream.ts';

const stream: ClientStream = {
  name: 'items',
  table: 'items',
  columns: [
    { name: 'id', type: 'VARCHAR' },
    { name: 'name', type: 'VARCHAR' },
  ],
  key: ['id'],
  cursor: undefined,
  masks: '',
};

describe('a catalog of Singer', () => {
  it('as it is discovered selects everything', () => {
    expect(parseSingerCatalog(singerCatalog([stream]))).toEqual([{ name: 'items', excluded: new Set() }]);
    expect(describeSingerStream(stream)).toMatchObject({
      key_properties: ['id'],
      replication_method: 'LOG_BASED',
    });
    expect(describeSingerStream({ ...stream, key: undefined })).toMatchObject({
      key_properties: [],
      replication_method: 'FULL_TABLE',
    });
  });

  it('leaves out what is not selected, but for the key', () => {
    const metadata = [
      { breadcrumb: [], metadata: { inclusion: 'available', selected: true } },
      { breadcrumb: ['properties', 'id'], metadata: { inclusion: 'automatic', selected: false } },
      { breadcrumb: ['properties', 'name'], metadata: { inclusion: 'available', selected: false } },
    ];
    expect(parseSingerCatalog({ streams: [{ tap_stream_id: 'items', metadata }] })).toEqual([
      { name: 'items', excluded: new Set(['name']) },
    ]);
  });

  it.each<[string, object]>([
    ['without a word on it', { tap_stream_id: 'items' }],
    [
      'that says no',
      { tap_stream_id: 'items', metadata: [{ breadcrumb: [], metadata: { selected: false } }] },
    ],
  ])('does not select a stream %s', (_, entry) => {
    expect(parseSingerCatalog({ streams: [entry] })).toEqual([]);
  });

  it('selects a stream that is selected by default', () => {
    const metadata = [{ breadcrumb: [], metadata: { 'selected-by-default': true } }];
    expect(parseSingerCatalog({ streams: [{ stream: 'items', metadata }] })).toHaveLength(1);
  });

  it('has streams', () => {
    expect(() => parseSingerCatalog([])).toThrow('it has no streams');
    const ofAirbyte = { streams: [{ stream: { name: 'items' }, sync_mode: 'incremental' }] };
    expect(() => parseSingerCatalog(ofAirbyte)).toThrow('has no tap_stream_id');
  });
});

describe('messages of Singer', () => {
  it('have a schema of the columns that are sent, and versions of the table', () => {
    expect(schemaMessage(stream, ['id'])).toEqual({
      type: 'SCHEMA',
      stream: 'items',
      schema: {
        type: 'object',
        properties: {
          id: { type: 'string' },
          _sdc_deleted_at: { type: ['null', 'string'], format: 'date-time' },
        },
      },
      key_properties: ['id'],
      bookmark_properties: [],
    });
    const write = createSingerWriter(stream, { tableVersion: 3, extractedAt: '2026-01-31T12:00:00Z' });
    expect(write({ members: '"id":"a"', deletedAt: undefined })).toBe(
      '{"type":"RECORD","stream":"items","record":{"id":"a","_sdc_deleted_at":null},"version":3,"time_extracted":"2026-01-31T12:00:00Z"}\n',
    );
    expect(activateMessage('items', 3)).toEqual({ type: 'ACTIVATE_VERSION', stream: 'items', version: 3 });
  });

  it('have a state that is read again, with or without its envelope', () => {
    const bookmarks = new Map([['items', { log: 'one', version: 12, table_version: 3 }]]);
    const message = singerState(bookmarks);
    expect(parseSingerState(message)).toEqual({ bookmarks, ignored: [] });
    expect(parseSingerState(message['value'])).toEqual({ bookmarks, ignored: [] });
  });

  it.each([undefined, null, {}, { bookmarks: {} }, { value: {} }, { type: 'STATE', value: {} }])(
    'have an empty state as %j',
    (value) => {
      expect(parseSingerState(value)).toEqual({ bookmarks: new Map(), ignored: [] });
    },
  );

  it.each([
    [{ bookmarks: { items: { date: '2026-01-01' } } }, 'the state of items'],
    [[{ bookmarks: {} }], 'the state'],
    [{ bookmarks: [] }, 'the state'],
    [{ streams: [{ tap_stream_id: 'items' }] }, 'the state'],
    [{ type: 'STATE', value: { items: '2026-01-01' } }, 'the state'],
    ['text', 'the state'],
  ])('name a state of another tool: %j', (value, part) => {
    expect(parseSingerState(value)).toEqual({ bookmarks: new Map(), ignored: [part] });
  });
});
