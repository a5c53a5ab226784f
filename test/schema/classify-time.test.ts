import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { classifyBytes, classifyString } from '../../src/schema/classify-time.ts';
import { Kind } from '../../src/schema/field-kinds.ts';
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

  it('agrees with a pattern, on strings and on bytes of a page', () => {
    const TIME =
      /^\d{4}-\d\d-\d\d(?:[T ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d{1,6})?)?(Z|z|[+-](?:0\d|1[0-4])(?::?[0-5]\d)?)?)?$/;
    const classifyByPattern = (text: string) => {
      const match = TIME.exec(text);
      if (match === null || classifyString(text.slice(0, 10)) === Kind.text) return Kind.text;
      if (text.length === 10) return Kind.date;
      return match[1] === undefined ? Kind.timestampWithoutZone : Kind.timestampWithZone;
    };
    const piece = fc.constantFrom(
      ...['T', ' ', ':', '.', ',', 'Z', 'z', '+', '-', '0', '00', '09', '14', '15', '23', '24', '59', '60'],
      ...['123456', '1', 't', '\n', '\0', 'é', '０', '😀', '10:00', '10:00:00', '+02:00', '-0530'],
    );
    const text = fc
      .tuple(fc.constantFrom('2024-02-29', '2023-02-29', '2024-1-011'), fc.array(piece, { maxLength: 9 }))
      .map(([day, rest]) => day + rest.join(''));
    fc.assert(
      fc.property(text, (value) => {
        const kind = classifyByPattern(value);
        expect(classifyString(value)).toBe(kind);
        const page = Buffer.from(`["${value}"]`);
        expect(classifyBytes(page, 2, page.length - 2)).toBe(kind);
      }),
      { numRuns: countRuns(20_000) },
    );
  });
});
