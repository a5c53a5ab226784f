import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { classifyExactNumber, Kind } from '../../src/schema/field-kinds.ts';

describe('classifyExactNumber', () => {
  it.each([
    ['9007199254740993', Kind.bigInteger],
    ['9223372036854775807', Kind.bigInteger],
    ['9223372036854775808', Kind.hugeInteger],
    ['-9223372036854775808', Kind.bigInteger],
    ['-9223372036854775809', Kind.hugeInteger],
    ['18446744073709551616', Kind.hugeInteger],
    ['170141183460469231731687303715884105727', Kind.hugeInteger],
    ['170141183460469231731687303715884105728', Kind.hugeNumber],
    ['-170141183460469231731687303715884105727', Kind.hugeInteger],
    ['-170141183460469231731687303715884105728', Kind.hugeNumber],
    [`1${'0'.repeat(60)}`, Kind.hugeNumber],
    ['1e400', Kind.hugeNumber],
    ['1.5e400', Kind.hugeNumber],
    [`0.${'1'.repeat(37)}`, Kind.decimal],
    [`0.${'1'.repeat(38)}`, Kind.hugeNumber],
    [`${'1'.repeat(37)}.1`, Kind.decimal],
    [`${'1'.repeat(38)}.1`, Kind.hugeNumber],
  ])('puts %s where it fits', (source, kind) => {
    expect(classifyExactNumber(source).kind).toBe(kind);
  });

  it('counts the digits a DECIMAL needs', () => {
    const number = fc
      .tuple(fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }), fc.bigInt({ min: 0n, max: 10n ** 20n }))
      .map(([whole, fraction]) => `${whole}.${fraction}`);
    fc.assert(
      fc.property(number, (source) => {
        const { kind, whole, scale } = classifyExactNumber(source);
        fc.pre(kind === Kind.decimal);
        const [before = '', after = ''] = source.replace('-', '').split('.');
        expect(BigInt(before) < 10n ** BigInt(whole)).toBe(true);
        expect(scale).toBe(after.length);
      }),
    );
    expect(classifyExactNumber('-0.0123456789012345678')).toMatchObject({ whole: 1, scale: 19 });
  });
});
