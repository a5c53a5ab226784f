import { describe, expect, it } from 'vitest';
import { describeEvidence } from '../../src/dictionary/describe-evidence.ts';
import { writeTableComments } from '../../src/dictionary/write-comments.ts';
import type { DescribedColumn, DescribedTable } from '../../src/model/dictionary.ts';

const column: DescribedColumn = {
  name: 'price',
  type: 'DOUBLE',
  field: 'price',
  companionOf: undefined,
  evidence: undefined,
  hasNulls: undefined,
  isInKey: false,
  isHashed: false,
  absentSince: undefined,
  description: undefined,
  unit: undefined,
};

const table: DescribedTable = {
  table: 'items',
  stream: 'items',
  holds: 'rows',
  connector: 'analytics-read',
  path: 'shop/items',
  description: undefined,
  key: undefined,
  verifiedWholeAt: undefined,
  columns: [column],
};

function commentOf(changed: Partial<DescribedColumn>): string | undefined {
  const all = { ...column, ...changed };
  return writeTableComments({ ...table, columns: [all] }).columns.get(all.name);
}

describe('comments of a table', () => {
  it('say what is not known', () => {
    expect(writeTableComments(table).comment).toBe(
      'Stream items of analytics-read (shop/items). It has no key. No scan of the whole stream was verified when this was written. [sluice]',
    );
    expect(commentOf({})).toBe('Field price. DOUBLE. [sluice]');
  });

  it('say that values are masked, in a companion, or gone', () => {
    expect(commentOf({ isHashed: true, evidence: 'all values were text', type: 'VARCHAR' })).toBe(
      'Field price. VARCHAR: keyed hashes in place of its values. [sluice]',
    );
    expect(commentOf({ name: 'price__text', companionOf: 'price', type: 'VARCHAR', hasNulls: true })).toBe(
      'Values that price cannot hold, as text. VARCHAR: some rows have none. [sluice]',
    );
    expect(commentOf({ absentSince: 'run-9' })).toBe(
      'Field price. DOUBLE: no record has it since run run-9. [sluice]',
    );
  });

  it('are left out for the columns of very wide tables', () => {
    const columns = Array.from({ length: 501 }, (_, at) => ({ ...column, name: `c${at}` }));
    const written = writeTableComments({ ...table, columns });
    expect(written.columns.size).toBe(0);
    expect(written.comment).toContain('Stream items');
  });
});

describe('evidence of a type', () => {
  it.each([
    ['DATE', ['string'], 'all values were dates'],
    ['VARCHAR', ['string', 'integer'], 'all values were text or whole numbers'],
    ['VARCHAR', undefined, undefined],
  ] as const)('of %s from %s is: %s', (type, jsonTypes, words) => {
    expect(describeEvidence({ type, jsonTypes, isForced: false, companion: undefined })).toBe(words);
  });

  it('names the config, and the companion', () => {
    expect(
      describeEvidence({ type: 'BIGINT', jsonTypes: ['string'], isForced: true, companion: 'n__text' }),
    ).toBe('the config sets the type; values that do not fit are in n__text');
  });
});
