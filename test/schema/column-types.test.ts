import { describe, expect, it } from 'vitest';
import type { ColumnType } from '../../src/model/schema.ts';
import { chooseType, decimalRoom, mayWiden, widenType } from '../../src/schema/column-types.ts';
import { classifyString } from '../../src/schema/classify-time.ts';
import { classifyExactNumber, Kind } from '../../src/schema/field-kinds.ts';
import { createFieldTree, observeRecord } from '../../src/schema/observe-fields.ts';
import { parseExact } from '../../src/json/exact-number.ts';

/** What observing a field with these JSON texts as its values shows. */
function see(...values: readonly string[]) {
  const tree = createFieldTree();
  for (const value of values) observeRecord(tree, parseExact(`{"v":${value}}`) as Record<string, unknown>);
  const node = tree.root.children.get('v');
  if (node === undefined) throw new Error('nothing was observed');
  return node;
}

const D1 = '"2024-01-01"';
const TZ = '"2024-01-01T10:00:00Z"';
const TS = '"2024-01-01 10:00"';
const BIG = '9007199254740993';
const HUGE = '9223372036854775808';
const DEC = '123456789.123456789';

describe('chooseType', () => {
  const cases: readonly (readonly [string, readonly string[], ColumnType])[] = [
    ['nothing but nulls', ['null', 'null'], 'NULL'],
    ['nulls and then a value', ['null', '1'], 'BIGINT'],
    ['booleans', ['true', 'false'], 'BOOLEAN'],
    ['integers', ['1', '-5', '9007199254740991'], 'BIGINT'],
    ['2^53 + 1', ['1', BIG], 'BIGINT'],
    ['an integer beyond 2^53 that is a double', ['9007199254740992', BIG], 'BIGINT'],
    ['64 bits and one more', [HUGE], 'HUGEINT'],
    ['2^64 beside small ones', ['1', BIG, '18446744073709551616'], 'HUGEINT'],
    ['2^127 - 1', ['170141183460469231731687303715884105727'], 'HUGEINT'],
    ['2^127', ['170141183460469231731687303715884105728'], 'VARCHAR'],
    ['fractions', ['0.1', '2.5'], 'DOUBLE'],
    ['integers and fractions', ['1', '0.5'], 'DOUBLE'],
    ['1e300', ['1e300', '1'], 'DOUBLE'],
    ['-0', ['-0', '1'], 'DOUBLE'],
    ['long decimals', [DEC], 'DECIMAL(38,9)'],
    ['long decimals of several lengths', [DEC, '0.12345678901234567'], 'DECIMAL(38,17)'],
    ['long decimals and integers', [DEC, '5'], 'DECIMAL(38,9)'],
    ['long decimals and integers beyond 64 bits', [DEC, HUGE], 'DECIMAL(38,9)'],
    ['30 digits', ['3.14159265358979323846264338327'], 'DECIMAL(38,29)'],
    ['long decimals that leave no room for integers', ['3.1415926535897932384626433832', '5'], 'VARCHAR'],
    ['more digits than 38', [`0.${'1'.repeat(50)}`], 'VARCHAR'],
    ['fractions and long decimals', ['0.5', DEC], 'VARCHAR'],
    ['fractions and 2^53 + 1', ['0.5', BIG], 'VARCHAR'],
    ['1e400', ['1e400'], 'VARCHAR'],
    ['1e-400', ['1', '1e-400'], 'VARCHAR'],
    ['dates', [D1, 'null'], 'DATE'],
    ['timestamps with offsets', [TZ], 'TIMESTAMPTZ'],
    ['timestamps without', [TS], 'TIMESTAMP'],
    ['dates and timestamps', [D1, TZ], 'VARCHAR'],
    ['timestamps with and without offsets', [TS, TZ], 'VARCHAR'],
    ['dates and text', [D1, '"soon"'], 'VARCHAR'],
    ['text and dates', ['"soon"', D1], 'VARCHAR'],
    ['digits in quotes', ['"00123"'], 'VARCHAR'],
    ['integers and text', ['1', '"x"'], 'VARCHAR'],
    ['booleans and integers', ['true', '1'], 'VARCHAR'],
    ['integers and dates', ['1', D1], 'VARCHAR'],
    ['arrays', ['[1]', '[]'], 'JSON'],
    ['scalars and arrays', ['1', '[1]'], 'JSON'],
    ['empty objects', ['{}'], 'JSON'],
  ];

  it.each(cases)('of %s', (_, values, type) => {
    expect(chooseType(see(...values))).toBe(type);
    expect(chooseType(see(...values.toReversed()))).toBe(type);
  });
});

describe('widenType', () => {
  const cases: readonly (readonly [ColumnType, readonly string[], ColumnType])[] = [
    ['NULL', ['1'], 'BIGINT'],
    ['NULL', ['null'], 'NULL'],
    ['BIGINT', ['5', BIG, 'null'], 'BIGINT'],
    ['BIGINT', [HUGE], 'HUGEINT'],
    ['BIGINT', ['0.5'], 'DOUBLE'],
    ['BIGINT', [DEC], 'DECIMAL(38,9)'],
    ['BIGINT', ['0.5', BIG], 'VARCHAR'],
    ['BIGINT', ['"x"'], 'VARCHAR'],
    ['BIGINT', ['true'], 'VARCHAR'],
    ['BIGINT', ['[1]'], 'JSON'],
    ['HUGEINT', ['1', HUGE], 'HUGEINT'],
    ['HUGEINT', ['0.5'], 'VARCHAR'],
    ['HUGEINT', [DEC], 'VARCHAR'],
    ['DOUBLE', ['1', '0.5'], 'DOUBLE'],
    ['DOUBLE', [BIG], 'VARCHAR'],
    ['DECIMAL(38,9)', [DEC, '1', HUGE], 'DECIMAL(38,9)'],
    ['DECIMAL(38,9)', ['0.12345678901234567'], 'DECIMAL(38,17)'],
    ['DECIMAL(38,30)', ['1'], 'VARCHAR'],
    ['DECIMAL(38,9)', ['0.5'], 'VARCHAR'],
    ['BOOLEAN', ['true'], 'BOOLEAN'],
    ['BOOLEAN', ['1'], 'VARCHAR'],
    ['DATE', [D1], 'DATE'],
    ['DATE', [TZ], 'VARCHAR'],
    ['DATE', ['"soon"'], 'VARCHAR'],
    ['TIMESTAMPTZ', [TZ], 'TIMESTAMPTZ'],
    ['TIMESTAMPTZ', [TS], 'VARCHAR'],
    ['TIMESTAMP', [TS], 'TIMESTAMP'],
    ['VARCHAR', ['1', '[1]', D1, '1e400'], 'VARCHAR'],
    ['JSON', ['1', '"x"', '{}'], 'JSON'],
  ];

  it.each(cases)('of %s that meets %j', (existing, values, type) => {
    expect(widenType(existing, see(...values))).toBe(type);
  });
});

describe('mayWiden', () => {
  const types = [
    'BOOLEAN',
    'BIGINT',
    'HUGEINT',
    'DOUBLE',
    'DECIMAL(38,9)',
    'DATE',
    'TIMESTAMP',
    'TIMESTAMPTZ',
    'VARCHAR',
    'JSON',
  ] as const;

  it('names the casts that keep values, and no other', () => {
    const allowed = types.flatMap((from) =>
      types.filter((to) => from !== to && mayWiden(from, to)).map((to) => `${from} > ${to}`),
    );
    expect(allowed).toEqual([
      'BOOLEAN > VARCHAR',
      'BIGINT > HUGEINT',
      'BIGINT > DOUBLE',
      'BIGINT > DECIMAL(38,9)',
      'BIGINT > VARCHAR',
      'HUGEINT > DECIMAL(38,9)',
      'HUGEINT > VARCHAR',
      'DATE > VARCHAR',
    ]);
    expect(mayWiden('DECIMAL(38,9)', 'DECIMAL(38,17)')).toBe(true);
  });
});

describe('decimalRoom', () => {
  it('reads the digits before and after the point', () => {
    expect(decimalRoom('DECIMAL(38,17)')).toEqual({ whole: 21, scale: 17 });
    expect(decimalRoom('DECIMAL(18,2)')).toEqual({ whole: 16, scale: 2 });
    expect(decimalRoom('DOUBLE')).toBeUndefined();
  });
});

describe('observing', () => {
  it('gives every value a kind of its own', () => {
    const kinds = ['null', 'true', '1', BIG, HUGE, '0.5', DEC, '1e400', D1, TZ, TS, '"x"', '[]', '{}'];
    expect(kinds.map((value) => see(value).kinds)).toEqual(Object.values(Kind));
    expect(classifyString('x') | classifyExactNumber('1e400').kind).toBe(Kind.text | Kind.hugeNumber);
  });
});
