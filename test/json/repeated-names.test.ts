import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findRepeatedNames } from '../../src/json/repeated-names.ts';
import { countRuns } from '../support/seeds.ts';

describe('names given twice in one object', () => {
  it.each<[string, string, ReturnType<typeof findRepeatedNames>]>([
    ['none', '{"a":{"a":1},"b":[{"a":1},{"a":2}],"c":"\\"a\\":"}', []],
    ['at the root', '{\n"a":1,\n"a":2}', [{ pointer: '/a', lines: [2, 3] }]],
    ['deeper', '{"p":{"id":{},\n"id":{}}}', [{ pointer: '/p/id', lines: [1, 2] }]],
    ['in an element', '[1,{"a":[],"b":{},\n"a":3}]', [{ pointer: '/1/a', lines: [1, 2] }]],
    ['with an escape', '{"id":1,"\\u0069d":2}', [{ pointer: '/id', lines: [1, 1] }]],
    ['three times', '{"a":1,\r\n"a":2,\r\n"a":3}', [{ pointer: '/a', lines: [1, 2, 3] }]],
    ['with signs of pointers', '{"a/~":1,"a/~":2}', [{ pointer: '/a~1~0', lines: [1, 1] }]],
    ['named as a prototype has it', '{"__proto__":1,"constructor":2}', []],
    ['too long to be compared', JSON.stringify({ ['a'.repeat(20_000)]: 1, ['b'.repeat(20_000)]: 2 }), []],
    ['a scalar', '"a"', []],
    ['an empty object and list', '{"a":{},"b":[],"c":[[],{}]}', []],
  ])('%s', (_, text, found) => {
    expect(findRepeatedNames(text)).toEqual(found);
  });

  it('are not found in what a program wrote', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const [first] = findRepeatedNames(text);
        expect(first).toBeUndefined();
      }),
      { numRuns: countRuns(100) },
    );
  });

  it('are found at any depth', () => {
    const levels = 50_000;
    const text = `${'['.repeat(levels)}{"a":1,"a":2}${']'.repeat(levels)}`;
    expect(findRepeatedNames(text)).toHaveLength(1);
  });
});
