import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sliceArray, slicePath } from '../../src/json/slice-records.ts';
import { hostileJson, oddNames, spelling, writeHostileJson } from '../support/hostile-rows.ts';
import { isSameJson, readPlainJson } from '../support/plain-json.ts';
import { countRuns } from '../support/seeds.ts';

const names = fc.constantFrom('data', 'a', 'total', ...oddNames);
const text = fc
  .tuple(hostileJson(names, 4), spelling)
  .map(([value, spelt]) => ({ text: writeHostileJson(value, spelt), value }));

/** Deepest nesting by the definition: a scalar has 0. */
function measureDepth(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(measureDepth));
}

function countWritten(value: string): number {
  let members = 0;
  // Outside of strings every colon belongs to a member.
  for (const token of value.matchAll(/"(?:[^"\\]|\\.)*"|:/gs)) if (token[0] === ':') members += 1;
  return members;
}

describe('sliceArray', () => {
  it('cuts an array into the texts of its elements, whatever the white space, escapes and names', () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 5 }), spelling, (elements, spelt) => {
        const gap = [' ', '', '\n', '\t', ' \r\n '][spelt[0] ?? 0] ?? '';
        const page = `${gap}[${elements.map((element) => gap + element.text + gap).join(',')}]`;
        const slices = sliceArray(page, gap.length);
        const parsed = JSON.parse(page) as unknown[];
        expect(slices.length).toBe(parsed.length);
        for (const [at, slice] of slices.entries()) {
          expect(slice.text).not.toMatch(/[\r\n]/);
          expect(JSON.parse(slice.text)).toEqual(parsed[at]);
          expect(isSameJson(readPlainJson(slice.text), readPlainJson(elements[at]?.text ?? ''))).toBe(true);
          expect(slice.members).toBe(countWritten(elements[at]?.text ?? ''));
        }
      }),
      { numRuns: countRuns(1_500) },
    );
  });

  it('returns nothing for an empty array', () => {
    expect(sliceArray('[ \n ]', 0)).toEqual([]);
  });

  it('keeps every character of a number', () => {
    const numbers = ['1.10', '-0', '1E+2', '9007199254740993', '1e400'];
    expect(sliceArray(`[${numbers.join(' ,\n')}]`, 0).map((slice) => slice.text)).toEqual(numbers);
  });

  it.each([
    ['1', false],
    ['123456789012345', false],
    ['1234567890123456', false],
    ['9007199254740991', false],
    ['9007199254740992', true],
    ['-9007199254740993', true],
    ['0.30000000000000004', false],
    ['0.300000000000000040', false],
    ['0.12345678901234567', true],
    ['1e2', false],
    ['[1e2]', false],
    ['1e+21', false],
    ['1E-400', true],
    ['1e400', true],
    ['5e-324', false],
    ['-0', false],
    ['{"a":[1,{"b":9007199254740993}]}', true],
    ['{"9007199254740993":"9007199254740993 1e400"}', false],
    ['"1e400"', false],
    ['true', false],
  ])('says of %s whether a double could round a number in it: %s', (value, hard) => {
    expect(sliceArray(`[${value}]`, 0)[0]?.hardNumbers).toBe(hard);
  });

  it.each([
    ['1', 0],
    ['"[[[["', 0],
    ['[]', 1],
    ['{"a":"}{"}', 1],
    ['{"a":[{"b":[1]}],"c":{}}', 4],
  ])('measures the nesting of %s as %i', (value, depth) => {
    expect(sliceArray(`[${value}]`, 0)[0]?.depth).toBe(depth);
  });

  it('measures depth as the parsed value has it', () => {
    fc.assert(
      // Of a name that comes twice only the last value is parsed, so names differ here.
      fc.property(fc.json({ maxDepth: 6 }), (value) => {
        expect(sliceArray(`[${value}]`, 0)[0]?.depth).toBe(measureDepth(JSON.parse(value)));
      }),
      { numRuns: countRuns(500) },
    );
  });

  it('cuts 200,000 levels of nesting without recursion', () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    const [slice] = sliceArray(`[${deep}]`, 0);
    expect(slice?.depth).toBe(200_000);
    expect(slice?.text).toBe(deep);
  });

  it('is not misled by quotes and backslashes inside strings', () => {
    const value = '{"a\\\\":"\\"],[","b":"\\\\\\\\","c":"\\u005d"}';
    const slices = sliceArray(`[${value},"]"]`, 0);
    expect(slices.map((slice) => slice.text)).toEqual([value, '"]"']);
    expect(slices[0]?.members).toBe(3);
  });
});

describe('slicePath', () => {
  it('finds the array a path of names leads to in any document, the last of a name written twice', () => {
    fc.assert(
      fc.property(text, fc.array(names, { maxLength: 4 }), ({ text }, path) => {
        let expected: unknown = JSON.parse(text);
        for (const name of path) {
          const held = typeof expected === 'object' && expected !== null && Object.hasOwn(expected, name);
          expected = held ? (expected as Record<string, unknown>)[name] : undefined;
        }
        // An array's own `length` is not a value of the document.
        fc.pre(!path.includes('length'));
        const slices = slicePath(text, path);
        const found = slices?.map((slice) => JSON.parse(slice.text) as unknown);
        expect(found).toEqual(Array.isArray(expected) ? expected : undefined);
      }),
      { numRuns: countRuns(1_500) },
    );
  });

  it('takes the last data of two', () => {
    const page = '{"data":[1],"total":1,"d\\u0061ta":[2,3]}';
    expect(slicePath(page, ['data'])?.map((slice) => slice.text)).toEqual(['2', '3']);
    expect(slicePath('{"data":[1],"data":null}', ['data'])).toBeUndefined();
  });

  it('does not take a name inside a nested object or a string for its own', () => {
    expect(slicePath('{"a":{"data":[1]},"b":"\\"data\\":[2]"}', ['data'])).toBeUndefined();
  });

  it('follows indexes of arrays', () => {
    const page = '{"sets": [ {"rows":[0]} , {"rows":[1,2]} ]}';
    expect(slicePath(page, ['sets', '1', 'rows'])?.map((slice) => slice.text)).toEqual(['1', '2']);
    expect(slicePath(page, ['sets', '2'])).toBeUndefined();
    expect(slicePath(page, ['sets', '01'])).toBeUndefined();
    expect(slicePath('{"sets":[]}', ['sets', '0'])).toBeUndefined();
  });
});
