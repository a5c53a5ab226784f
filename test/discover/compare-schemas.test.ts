import { expect, it } from 'vitest';
import { compareSchemas } from '../../src/discover/compare-schemas.ts';

const schema = {
  type: 'object',
  properties: { a: { type: 'string' }, b: { type: ['integer', 'null'] } },
  required: ['a'],
};

it('finds no difference in the order of members', () => {
  expect(
    compareSchemas(
      {
        required: ['a'],
        properties: { b: { type: ['integer', 'null'] }, a: { type: 'string' } },
        type: 'object',
      },
      schema,
    ),
  ).toEqual([]);
});

it('names fields that are new, gone, or of another type', () => {
  const before = { type: 'object', properties: { a: { type: 'string', format: 'date' }, c: true } };
  expect(compareSchemas(before, schema)).toEqual([
    'b is not in the file',
    'c was not found',
    'a is string (date) in the file, found: string, required',
  ]);
});

it('says so when only other keywords differ', () => {
  expect(compareSchemas({ ...schema, additionalProperties: false }, schema)).toEqual([
    'other keywords differ',
  ]);
});

it.each([null, [], 7, 'text', { properties: 7 }])('takes %j for a contract without fields', (before) => {
  expect(compareSchemas(before, schema)).toEqual(['a is not in the file', 'b is not in the file']);
});
