import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { parseHttpDate } from '../../src/http/http-date.ts';
import { LONGEST_HINT_MS, readRetryAfter, toRetryAfterMs } from '../../src/http/retry-after.ts';
import { countRuns } from '../support/seeds.ts';

const serverNow = Date.UTC(1994, 10, 6, 8, 49, 37);
const localNow = Date.UTC(2026, 10, 20, 12);

function read(value: string | readonly string[]): number | undefined {
  return readRetryAfter({ 'retry-after': value }, localNow, serverNow);
}

describe('Retry-After', () => {
  it('is a number of seconds', () => {
    expect(read('0')).toBe(0);
    expect(read('3')).toBe(3_000);
    expect(read(' 120\t')).toBe(120_000);
  });

  it.each(['Sun, 06 Nov 1994 08:50:37 GMT', 'Sunday, 06-Nov-94 08:50:37 GMT', 'Sun Nov  6 08:50:37 1994'])(
    'is the date %s, compared with the server date',
    (date) => {
      expect(read(date)).toBe(60_000);
    },
  );

  it('is compared with the local clock when the server sends no date', () => {
    const headers = { 'retry-after': 'Fri, 20 Nov 2026 12:00:05 GMT' };
    expect(readRetryAfter(headers, localNow, undefined)).toBe(5_000);
  });

  it('is 0 for a date gone by', () => {
    expect(read('Sun, 06 Nov 1994 08:00:00 GMT')).toBe(0);
  });

  it.each(['-5', '1.5', '0x10', '1e9', '', 'soon', '5, 10', '120 s', '+5', '1994-11-06T08:50:37Z', 'NaN'])(
    'is invalid as %j',
    (value) => {
      expect(read(value)).toBeUndefined();
    },
  );

  it('is invalid when it is sent twice', () => {
    expect(read(['5', '10'])).toBeUndefined();
  });

  it.each(['2147484', '1000000000000', '9'.repeat(400)])('stays finite for %s seconds', (value) => {
    expect(read(value)).toBe(Math.min(Number(value) * 1000, LONGEST_HINT_MS));
  });

  it('is a finite wait or nothing for any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.double().map(String), fc.date().map(String)), (value) => {
        const ms = read(value);
        if (ms !== undefined) expect(ms >= 0 && ms <= LONGEST_HINT_MS).toBe(true);
      }),
      { numRuns: countRuns(1000) },
    );
  });
});

describe('retryAfter of an error body', () => {
  it('is a whole number of seconds and nothing else', () => {
    expect(toRetryAfterMs(60)).toBe(60_000);
    expect(toRetryAfterMs(0)).toBe(0);
    expect(toRetryAfterMs(1e300)).toBe(LONGEST_HINT_MS);
    for (const value of ['60', -1, 1.5, NaN, Infinity, null, undefined, {}, [60]]) {
      expect(toRetryAfterMs(value)).toBeUndefined();
    }
  });
});

describe('an HTTP date', () => {
  const zone = process.env['TZ'];
  afterEach(() => {
    if (zone === undefined) delete process.env['TZ'];
    else process.env['TZ'] = zone;
  });

  it.each(['UTC', 'America/New_York', 'Asia/Kathmandu'])('is UTC when the machine is in %s', (TZ) => {
    process.env['TZ'] = TZ;
    expect(parseHttpDate('Sun Nov  6 08:49:37 1994', localNow)).toBe(serverNow);
    expect(parseHttpDate('Sun, 06 Nov 1994 08:49:37 GMT', localNow)).toBe(serverNow);
  });

  it('with two digits of year is never more than 50 years ahead', () => {
    const yearOf = (text: string) => new Date(parseHttpDate(text, localNow) ?? NaN).getUTCFullYear();
    expect(yearOf('Monday, 01-Jan-76 00:00:00 GMT')).toBe(2076);
    expect(yearOf('Monday, 01-Jan-77 00:00:00 GMT')).toBe(1977);
    expect(yearOf('Monday, 01-Jan-26 00:00:00 GMT')).toBe(2026);
  });

  it('with an old year stays in that year', () => {
    expect(parseHttpDate('Mon, 01 Jan 0050 00:00:00 GMT', localNow)).toBe(
      new Date('0050-01-01T00:00:00Z').getTime(),
    );
  });

  it('may name a leap second', () => {
    expect(parseHttpDate('Sat, 31 Dec 2016 23:59:60 GMT', localNow)).toBe(Date.UTC(2016, 11, 31, 23, 59, 59));
  });

  it.each([
    '120',
    'Sun, 31 Feb 1994 08:49:37 GMT',
    'Sun, 06 Nov 1994 24:00:00 GMT',
    'Sun, 06 Nov 1994 08:60:37 GMT',
    'Sun, 6 Nov 1994 08:49:37 GMT',
    'Sun, 06 Nov 1994 08:49:37 UTC',
    'Sun, 06 Nov 1994 08:49:37 GMT ',
    'sun, 06 nov 1994 08:49:37 gmt',
    'Sun, 00 Nov 1994 08:49:37 GMT',
  ])('is not %j', (text) => {
    expect(parseHttpDate(text, localNow)).toBeUndefined();
  });

  it('reads back what toUTCString writes', () => {
    const between = { min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z') };
    fc.assert(
      fc.property(fc.date({ ...between, noInvalidDate: true }), (date) => {
        const whole = Math.floor(date.getTime() / 1000) * 1000;
        expect(parseHttpDate(date.toUTCString(), localNow)).toBe(whole);
      }),
    );
  });
});
