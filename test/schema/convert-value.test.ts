import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { normalizeDecimal, parseExact } from '../../src/json/exact-number.ts';
import type { ForcedType } from '../../src/model/schema.ts';
import { convertValue } from '../../src/schema/convert-value.ts';
import { compileProjection } from '../../src/schema/project-record.ts';
import { findForcedTypes } from '../../src/schema/force-types.ts';
import { createFieldTree, observeRecord } from '../../src/schema/observe-fields.ts';
import { resolveColumns } from '../../src/schema/resolve-columns.ts';
import { oddNumbers } from '../support/hostile-rows.ts';
import { countRuns } from '../support/seeds.ts';

const number = fc.oneof(
  fc.constantFrom(...oddNumbers),
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc
    .tuple(fc.bigInt({ min: -(10n ** 45n), max: 10n ** 45n }), fc.nat(40))
    .map(([digits, scale]) => `${digits}e-${scale}`),
);
const types: readonly ForcedType[] = [
  'BIGINT',
  'HUGEINT',
  'DOUBLE',
  'DECIMAL(38,0)',
  'DECIMAL(18,2)',
  'DECIMAL(38,20)',
];

describe('a value that was converted', () => {
  it('is the same number, whether it came as a number or as text', () => {
    fc.assert(
      fc.property(number, fc.constantFrom(...types), (text, type) => {
        const converted = convertValue(parseExact(text), type);
        const asText = convertValue(text, type);
        expect(asText).toBe(converted);
        if (converted === undefined) return;
        const zero = (digits: string) => digits.replace(/^-0$/, '0');
        expect(zero(normalizeDecimal(converted))).toBe(zero(normalizeDecimal(text.replace(/E/, 'e'))));
      }),
      { numRuns: countRuns(500) },
    );
  });

  it('fits the digits of its type', () => {
    fc.assert(
      fc.property(number, (text) => {
        const decimal = convertValue(parseExact(text), 'DECIMAL(18,2)');
        if (decimal !== undefined) expect(decimal).toMatch(/^-?\d{1,16}(\.\d{1,2})?$/);
        const whole = convertValue(parseExact(text), 'BIGINT');
        if (whole !== undefined) expect(BigInt.asIntN(64, BigInt(whole))).toBe(BigInt(whole));
      }),
      { numRuns: countRuns(500) },
    );
  });
});

describe('text', () => {
  it.each<[unknown, ForcedType, string | undefined]>([
    ['12', 'BIGINT', '12'],
    ['1e3', 'BIGINT', '1000'],
    ['12.0', 'BIGINT', '12'],
    [' 12', 'BIGINT', undefined],
    ['+12', 'BIGINT', undefined],
    ['012', 'BIGINT', undefined],
    ['0x1f', 'BIGINT', undefined],
    ['', 'BIGINT', undefined],
    ['-9223372036854775808', 'BIGINT', '-9223372036854775808'],
    ['-9223372036854775809', 'BIGINT', undefined],
    [true, 'BIGINT', undefined],
    ['Infinity', 'DOUBLE', undefined],
    ['0.1', 'DOUBLE', '0.1'],
    [-0, 'DOUBLE', '-0.0'],
    ['TRUE', 'BOOLEAN', undefined],
    [0, 'BOOLEAN', undefined],
    ['2026-01-31T10:00Z', 'DATE', undefined],
    [[1, 'a'], 'VARCHAR', '[1,"a"]'],
    [-0, 'VARCHAR', '-0'],
    ['x', 'JSON', '"x"'],
  ])('%j as %s is %j', (value, type, converted) => {
    expect(convertValue(value, type)).toBe(converted);
  });
});

describe('the columns of types that config gives', () => {
  const tree = createFieldTree();
  observeRecord(tree, { topicId: '1', meta: { unitPrice: 1 }, plain: 'x' });

  it('are found by any spelling of the field, and the exact one wins', () => {
    const found = findForcedTypes(
      {
        topic_id: { kind: 'type', type: 'VARCHAR' },
        topicId: { kind: 'type', type: 'BIGINT' },
        'meta.unitPrice': { kind: 'type', type: 'DECIMAL(10,2)' },
        nobody: { kind: 'type', type: 'DATE' },
        plain: { kind: 'hash' },
      },
      tree.root,
      [],
    );
    expect(found.fields).toEqual([
      { path: ['topicId'], type: 'BIGINT' },
      { path: ['meta', 'unitPrice'], type: 'DECIMAL(10,2)' },
    ]);
    expect(found.unmatched).toEqual(['nobody']);
  });

  it('are found by the name of a column as well', () => {
    const learned = [{ path: ['odd "field"'], name: 'odd_field_1', type: 'VARCHAR' as const }];
    const { fields } = findForcedTypes(
      { odd_field_1: { kind: 'type', type: 'DATE' } },
      createFieldTree().root,
      learned,
    );
    expect(fields).toEqual([{ path: ['odd "field"'], type: 'DATE' }]);
  });

  it('share a value with a companion: it is in one of the two', () => {
    const forced = new Map([['["v"]', { type: 'BIGINT' as const, converts: false, survives: true }]]);
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.integer().map(String)), (value) => {
        fc.pre(value !== null);
        const seen = createFieldTree();
        observeRecord(seen, { v: value });
        const columns = resolveColumns(seen, [], () => false, forced);
        expect(columns.map(({ name }) => name)).toEqual(['v', 'v__text']);
        const cells = JSON.parse(compileProjection(columns)(0, { v: value })) as object;
        expect(Object.keys(cells)).toHaveLength(2);
      }),
    );
  });
});
