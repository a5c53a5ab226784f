import { describe, expect, it } from 'vitest';
import type { Stream } from '../../src/model/stream.ts';
import { findUnseenNames, refuseMisspelledNames, refuseUnseenKey } from '../../src/storage/unseen-names.ts';
import { makeStream } from '../support/fixtures.ts';

const record = (value: unknown) => ({ text: JSON.stringify(value), value, exact: false });
const RECORDS = [record({ promptId: 'p1', date: '2026-01-01' }), record({ meta: { model: 'm' } })];

function configure(parts: Partial<Stream>): Stream {
  return makeStream({ name: 'items', ...parts });
}

describe('findUnseenNames', () => {
  it('says which names of key, cursor and columns no record has, and what was meant', () => {
    const stream = configure({
      key: { kind: 'fields', fields: ['promptid2', 'date'] },
      cursor: { kind: 'field', field: 'dat', param: 'startDate' },
      columns: { 'meta.modl': { kind: 'exclude' } },
    });
    expect(findUnseenNames(stream, RECORDS)).toEqual([
      'streams.items.key names promptid2, which no record of the first page has; did you mean "promptId"?',
      'streams.items.cursor names dat, which no record of the first page has; did you mean "date"?',
      'streams.items.columns names meta.modl, which no record of the first page has; did you mean "meta.model"?',
    ]);
  });

  it('knows a field by each of its spellings', () => {
    const stream = configure({
      key: { kind: 'fields', fields: ['prompt_id', 'date'] },
      columns: { meta__model: { kind: 'exclude' }, meta: { kind: 'exclude' } },
    });
    expect(findUnseenNames(stream, RECORDS)).toEqual([]);
  });

  it('takes what a slice adds and what was masked on arrival for fields', () => {
    const slice = { id: 'entity=acme', values: { entity: 'acme' }, params: {}, fingerprint: 'f' };
    const stream = configure({
      slice,
      key: { kind: 'fields', fields: ['entity', 'date'] },
      columns: { email: { kind: 'exclude' } },
    });
    expect(findUnseenNames(stream, RECORDS, new Set(['email']))).toEqual([]);
    expect(findUnseenNames({ ...stream, slice: undefined }, RECORDS)).toHaveLength(2);
  });

  it('says nothing of an empty page', () => {
    const stream = configure({ key: { kind: 'fields', fields: ['id'] } });
    expect(findUnseenNames(stream, [])).toEqual([]);
  });
});

describe('refuseMisspelledNames', () => {
  const withCursor = (field: string) => configure({ cursor: { kind: 'field', field, param: 'startDate' } });

  it.each(['dat', 'dates', 'Date2'])('refuses the cursor %s where the records have date', (field) => {
    expect(() => refuseMisspelledNames(withCursor(field), { records: RECORDS })).toThrow(
      `cursor names ${field}, which no record of the first page has; did you mean "date"?`,
    );
    expect(() => refuseUnseenKey(withCursor(field), { records: RECORDS })).not.toThrow();
  });

  it.each(['updatedAt', 'date', 'pro'])('leaves the cursor %s to a whole scan', (field) => {
    expect(() => refuseMisspelledNames(withCursor(field), { records: RECORDS })).not.toThrow();
  });
});
