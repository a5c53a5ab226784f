import { describe, expect, it } from 'vitest';
import { isNeverNull } from '../../src/contract/never-null.ts';

const text = { type: 'string' };

describe('a field that never is null by its contract file', () => {
  it.each([
    ['required and of a type', { required: ['a'], properties: { a: text } }],
    ['one of several types', { required: ['a'], properties: { a: { type: ['integer', 'string'] } } }],
    ['a list of values', { required: ['a'], properties: { a: { enum: ['x', 'y'] } } }],
    ['a constant', { required: ['a'], properties: { a: { const: 0 } } }],
    ['a reference', { required: ['a'], properties: { a: { $ref: '#/$defs/t' } }, $defs: { t: text } }],
    ['several parts', { allOf: [{ required: ['a'] }, { properties: { a: text } }] }],
    ['each choice', { required: ['a'], properties: { a: { anyOf: [text, { type: 'integer' }] } } }],
  ])('%s', (_, schema) => {
    expect(isNeverNull(schema, ['a'])).toBe(true);
  });

  it.each([
    ['not required', { properties: { a: text } }],
    ['required, of any type', { required: ['a'] }],
    ['required, and described in words', { required: ['a'], properties: { a: { title: 'A' } } }],
    ['null among its types', { required: ['a'], properties: { a: { type: ['string', 'null'] } } }],
    ['null among its values', { required: ['a'], properties: { a: { enum: ['x', null] } } }],
    ['null as its constant', { required: ['a'], properties: { a: { const: null } } }],
    [
      'a choice that lets null in',
      { required: ['a'], properties: { a: { oneOf: [text, { type: 'null' }] } } },
    ],
    ['required in one choice', { anyOf: [{ required: ['a'] }, {}], properties: { a: text } }],
    ['a reference to itself', { required: ['a'], properties: { a: { $ref: '#/properties/a' } } }],
  ])('is not: %s', (_, schema) => {
    expect(isNeverNull(schema, ['a'])).toBe(false);
  });

  it('depends on every level above it', () => {
    const meta = { type: 'object', required: ['model'], properties: { model: text } };
    const path = ['meta', 'model'];
    expect(isNeverNull({ required: ['meta'], properties: { meta } }, path)).toBe(true);
    expect(isNeverNull({ properties: { meta } }, path)).toBe(false);
    const optional = { ...meta, type: ['object', 'null'] };
    expect(isNeverNull({ required: ['meta'], properties: { meta: optional } }, path)).toBe(false);
  });
});
