import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseExact } from '../../src/json/exact-number.ts';
import type { PageRecord } from '../../src/model/page.ts';
import type { ColumnRule } from '../../src/model/schema.ts';
import { compileMask, describeMasks } from '../../src/schema/mask-records.ts';
import { hostileNumber, hostileText } from '../support/hostile-rows.ts';

const KEY = 'a key of the tests, 1';
const OTHER_KEY = 'a key of the tests, 2';
const exclude: ColumnRule = { kind: 'exclude' };
const hash: ColumnRule = { kind: 'hash' };

function toRecord(text: string, exact = false): PageRecord {
  return { text, value: exact ? parseExact(text) : JSON.parse(text), exact };
}

function maskText(columns: Readonly<Record<string, ColumnRule>>, text: string, key = KEY): string {
  return compileMask({ columns }, key)?.mask(toRecord(text)).text ?? text;
}

function hmac(text: string, key = KEY): string {
  return createHmac('sha256', key).update(text).digest('hex');
}

describe('compileMask', () => {
  it('is nothing where no rule asks for it', () => {
    expect(compileMask({ columns: {} }, KEY)).toBeUndefined();
    expect(compileMask({ columns: { a: { kind: 'type', type: 'VARCHAR' } } }, undefined)).toBeUndefined();
  });

  it('hashes a text as HMAC-SHA256 of its UTF-8, whatever its spelling', () => {
    const expected = `{"email":"${hmac('zoë@example.com')}"}`;
    expect(maskText({ email: hash }, '{"email":"zoë@example.com"}')).toBe(expected);
    expect(maskText({ email: hash }, String.raw`{"em\u0061il":"zo\u00eb@example.com"}`)).toBe(
      expected.replace('email', String.raw`em\u0061il`),
    );
  });

  it('hashes what is not text by its canonical JSON', () => {
    const member = (value: string) => `{"x":${value}}`;
    expect(maskText({ x: hash }, member('{"b":1,"a":[1.0,null]}'))).toBe(
      member(`"${hmac('{"a":[1,null],"b":1}')}"`),
    );
    expect(maskText({ x: hash }, member(' { "a" : [1e0,null] , "b" : 1 } '))).toContain(
      hmac('{"a":[1,null],"b":1}'),
    );
    expect(maskText({ x: hash }, member('123456789012345678901234567890'))).toContain(
      hmac('123456789012345678901234567890'),
    );
    expect(maskText({ x: hash }, member('true'))).toContain(hmac('true'));
    expect(maskText({ x: hash }, member('""'))).toContain(hmac(''));
  });

  it('leaves null as it is, since it names nobody', () => {
    expect(maskText({ x: hash }, '{"x": null}')).toBe('{"x": null}');
  });

  it('gives a value the same hash wherever and however often it comes, and another with another key', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          hostileText.map((text) => JSON.stringify(text)),
          hostileNumber,
        ),
        (value) => {
          const one = maskText({ x: hash }, `{"x":${value}}`);
          expect(one).toMatch(/^\{"x":"[0-9a-f]{64}"\}$/);
          expect(maskText({ 'a.x': hash }, `{"a":{"x":${value}}}`)).toBe(`{"a":${one}}`);
          expect(maskText({ x: hash }, `{"x":${value}}`, OTHER_KEY)).not.toBe(one);
        },
      ),
    );
  });

  it('never lets two values share a hash', () => {
    fc.assert(
      fc.property(hostileText, hostileText, (a, b) => {
        fc.pre(a.toWellFormed() !== b.toWellFormed());
        const hashOf = (text: string) => maskText({ x: hash }, `{"x":${JSON.stringify(text)}}`);
        expect(hashOf(a)).not.toBe(hashOf(b));
      }),
    );
  });

  it.each([
    ['userEmail', '{"userEmail":1,"a":2}'],
    ['userEmail', '{"user_email":1,"a":2}'],
    ['user_email', '{"userEmail":1,"a":2}'],
    ['user_email', '{"UserEmail":1,"user_email":1,"a":2}'],
    ['contact.email', '{"contact":{"email":1},"a":2}'],
    ['contact__email', '{"contact":{"email":1},"a":2}'],
    ['contact.email', '{"contact.email":1,"a":2}'],
    ['contact.email', '{"contact":[{"email":1},[{"email":2}]],"a":2}'],
    ['a.b.c.d', '{"a.b":{"c":[{"d":1}]},"a":2}'],
    ['日本', '{"日本":1,"a":2}'],
    ['€', '{"€":1,"a":2}'],
  ])('%s names the field in %s', (field, text) => {
    const mask = compileMask({ columns: { [field]: exclude } }, undefined);
    expect(mask?.mask(toRecord(text)).text).not.toMatch(/\d(?=.*"a":2)/);
    expect([...(mask?.matched ?? [])]).toEqual([field]);
  });

  it.each([
    ['email', '{"emails":1,"contact":{"email":2},"mail":3}'],
    ['contact.email', '{"email":1,"contact":"x","contacts":{"email":1}}'],
    ['€', '{"field":1,"$":2}'],
    ['field', '{"€":1}'],
  ])('%s names no field in %s', (field, text) => {
    const mask = compileMask({ columns: { [field]: exclude } }, undefined);
    const record = toRecord(text);
    expect(mask?.mask(record)).toBe(record);
    expect([...(mask?.matched ?? [])]).toEqual([]);
  });

  it('leaves a field out where two spellings of it disagree, and masks a whole object before its members', () => {
    expect(maskText({ user_email: hash, userEmail: exclude }, '{"userEmail":1}')).toBe('{}');
    expect(maskText({ 'contact.email': hash, contact: exclude }, '{"contact":{"email":1}}')).toBe('{}');
    expect(maskText({ 'contact.email': exclude, contact: hash }, '{"contact":{"email":1}}')).toBe(
      `{"contact":"${hmac('{"email":1}')}"}`,
    );
  });

  it('keeps the value and the text of a record in step, exact numbers included', () => {
    const mask = compileMask({ columns: { ssn: exclude, email: hash } }, KEY);
    const masked = mask?.mask(toRecord('{"id":12345678901234567890,"ssn":1,"email":"x"}', true));
    expect(masked?.value).toEqual(parseExact(masked?.text ?? ''));
    expect(masked?.text).toBe(`{"id":12345678901234567890,"email":"${hmac('x')}"}`);
  });

  it('masks both members of a name that comes twice', () => {
    expect(maskText({ ssn: exclude }, '{"ssn":1,"a":0,"ssn":2}')).toBe('{"a":0}');
    expect(maskText({ ssn: hash }, '{"ssn":"1","ssn":"2"}')).toBe(
      `{"ssn":"${hmac('1')}","ssn":"${hmac('2')}"}`,
    );
  });

  it('looks into records that are arrays, which end in quarantine', () => {
    expect(maskText({ ssn: exclude }, '[{"ssn":1},2]')).toBe('[{},2]');
  });

  it('keeps up with names that never end', () => {
    const mask = compileMask({ columns: { 'm.ssn': exclude } }, undefined);
    for (let at = 0; at < 5_000; at += 1)
      expect(mask?.mask(toRecord(`{"m":{"k${at}":1,"ssn":${at}}}`)).text).toBe(`{"m":{"k${at}":1}}`);
  });

  it('leaves alone what was masked the same way before', () => {
    const stream = { columns: { ssn: exclude, email: hash } };
    const done = describeMasks({ columns: { email: hash } }, KEY);
    expect(compileMask(stream, KEY, done)?.mask(toRecord('{"ssn":1,"email":"h"}')).text).toBe(
      '{"email":"h"}',
    );
    expect(compileMask(stream, KEY, describeMasks(stream, KEY))).toBeUndefined();
  });
});

describe('describeMasks', () => {
  it('distinguishes keys and does not reveal them', () => {
    const columns = { ssn: exclude, email: hash, amount: { kind: 'type', type: 'BIGINT' } } as const;
    const one = describeMasks({ columns }, KEY);
    expect(one).toEqual({ ssn: 'exclude', email: expect.stringMatching(/^hash:[0-9a-f]{12}$/) as string });
    expect(describeMasks({ columns }, OTHER_KEY)['email']).not.toBe(one['email']);
    expect(hmac('', KEY)).not.toContain(one['email']?.slice(5));
  });
});
