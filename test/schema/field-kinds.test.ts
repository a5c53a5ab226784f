import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { classifyExactNumber, classifyString, Kind } from '../../src/schema/field-kinds.ts';
import { countRuns } from '../support/seeds.ts';

describe('classifyString', () => {
  it.each(['2024-01-01', '2024-02-29', '2000-02-29', '0001-01-01', '9999-12-31'])(
    'takes %s for a date',
    (value) => {
      expect(classifyString(value)).toBe(Kind.date);
    },
  );

  it.each([
    '2024-01-01T00:00:00Z',
    '2024-01-01T00:00Z',
    '2024-01-01 23:59:59z',
    '2024-01-01T10:00:00.1+02:00',
    '2024-01-01T10:00:00,123456-0530',
    '2024-01-01T10:00:00+14',
    '2024-01-01T10:00:00-14:59',
    '2024-02-29T10:00:00.000000+00:00',
  ])('takes %s for a timestamp with an offset', (value) => {
    expect(classifyString(value)).toBe(Kind.timestampWithZone);
  });

  it.each(['2024-01-01T00:00:00', '2024-01-01 10:30', '2024-01-01T10:30:00.5'])(
    'takes %s for a timestamp without an offset',
    (value) => {
      expect(classifyString(value)).toBe(Kind.timestampWithoutZone);
    },
  );

  it.each([
    '',
    '00123',
    '0',
    '20240101',
    '2024-1-1',
    '2024-02-30',
    '2023-02-29',
    '1900-02-29',
    '2024-13-01',
    '2024-00-10',
    '2024-01-00',
    '0000-01-01',
    '12024-01-01',
    '+2024-01-01',
    ' 2024-01-01',
    '2024-01-01 ',
    '2024-01-01\n',
    '2024/01/01',
    '01.02.2024',
    '２０２４-01-01',
    '12:30',
    '12:30:00',
    '2024-01-01T24:00:00Z',
    '2024-01-01T10:60:00Z',
    '2024-01-01T23:59:60Z',
    '2024-01-01T10:00:00.Z',
    '2024-01-01T10:00:00.1234567Z',
    '2024-01-01t10:00:00Z',
    '2024-01-01T10:00:00 Z',
    '2024-01-01T10:00:00 UTC',
    '2024-01-01T10:00:00+15:00',
    '2024-01-01T10:00:00+02:60',
    '2024-01-01T10:00:00+2:00',
    '2024-01-01T10:00:00+02:',
    '2024-01-01T10',
    '2024-01-01Z',
    '2024-W01-1',
    '2024-01',
    'c56a4180-65aa-42ec-a945-5fd21dec0538',
    '2024-4180-65aa-42ec-a945-5fd21dec0538',
  ])('leaves %j as text', (value) => {
    expect(classifyString(value)).toBe(Kind.text);
  });

  it('knows every day of the calendar and no other', () => {
    const day = fc.tuple(
      fc.integer({ min: 1, max: 9999 }),
      fc.integer({ min: 0, max: 13 }),
      fc.integer({ min: 0, max: 32 }),
    );
    fc.assert(
      fc.property(day, ([year, month, date]) => {
        const pad = (value: number, width: number) => String(value).padStart(width, '0');
        const text = `${pad(year, 4)}-${pad(month, 2)}-${pad(date, 2)}`;
        // A Date rolls over what does not exist.
        const shown = new Date(`${text}T00:00:00Z`);
        const exists = !Number.isNaN(shown.getTime()) && shown.toISOString().startsWith(text);
        expect(classifyString(text)).toBe(exists ? Kind.date : Kind.text);
        const zoned = exists ? Kind.timestampWithZone : Kind.text;
        expect(classifyString(`${text}T10:00:00Z`)).toBe(zoned);
      }),
      { numRuns: countRuns(3_000) },
    );
  });
});

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
