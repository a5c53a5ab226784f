import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ExactNumber, isExactAsDouble, normalizeDecimal, parseExact } from '../../src/json/exact-number.ts';
import { parseExactAgain } from '../../src/json/parse-exact-again.ts';
import {
  createElementFields,
  observeArrays,
  observeElements,
  packElementFields,
} from '../../src/schema/element-fields.ts';
import { type ElementFields, isRecordObject, observeRecord } from '../../src/schema/observe-fields.ts';
import { countRuns, seed } from '../support/seeds.ts';

const digits = fc
  .array(fc.constantFrom(...'0123456789'), { minLength: 1, maxLength: 40 })
  .map((all) => all.join(''));
const number = fc
  .record({
    sign: fc.constantFrom('', '', '-'),
    whole: fc.oneof(
      fc.constant('0'),
      digits.map((all) => all.replace(/^0+(?=.)/, '')),
    ),
    fraction: fc.option(digits, { nil: undefined }),
    exponent: fc.option(fc.integer({ min: -400, max: 400 }), { nil: undefined, freq: 6 }),
    letter: fc.constantFrom('e', 'E', 'e+'),
  })
  .map(({ sign, whole, fraction, exponent, letter }) => {
    const after = fraction === undefined ? '' : `.${fraction}`;
    const power =
      exponent === undefined ? '' : `${exponent < 0 ? letter.charAt(0) : letter}${String(exponent)}`;
    return `${sign}${whole}${after}${power}`;
  });
const scalar = fc.oneof(
  number,
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.constantFrom('9007199254740991', '9007199254740992', '9007199254740993', '-0', '-0.0', '1e21', '100.0'),
  fc.string({ unit: 'binary', maxLength: 8 }).map((text) => JSON.stringify(text)),
  number.map((text) => JSON.stringify(`${text} \\"`)),
  fc.constantFrom(
    String.raw`"\u0000123"`,
    String.raw`"\\u0000"`,
    String.raw`"\\\""`,
    String.raw`"a\/\u00e9"`,
    'true',
    'false',
    'null',
    '"2026-02-28"',
  ),
);
const name = fc.constantFrom(
  'a',
  'b',
  '__proto__',
  'constructor',
  '1',
  '12345678901234567890',
  'q"',
  'n\u0000',
  '',
);
const { value } = fc.letrec<{ value: string; object: string; array: string }>((tie) => ({
  value: fc.oneof(
    { weight: 5, arbitrary: scalar },
    { weight: 2, arbitrary: tie('object') },
    { weight: 1, arbitrary: tie('array') },
  ),
  object: fc
    .uniqueArray(fc.tuple(name, tie('value')), { selector: ([one]) => one, maxLength: 4 })
    .map((members) => `{${members.map(([one, text]) => `${JSON.stringify(one)}: ${text}`).join(' ,')}}`),
  array: fc.array(tie('value'), { maxLength: 3 }).map((items) => `[ ${items.join(' ,')}]`),
}));
const array = fc.oneof(
  { weight: 5, arbitrary: fc.array(value, { maxLength: 4 }).map((items) => `[${items.join(',')}]`) },
  { weight: 1, arbitrary: value },
);

/** The plain way: every array parsed by itself, every number looked at. */
function observePlainly(fields: ElementFields, text: string): void {
  const found = parseExact(text);
  if (!Array.isArray(found)) return;
  if (/[0-9.]{16}|[0-9][eE]|[[,:\s]-0(?![.0-9])/.test(text)) fields.needsExact = true;
  for (const element of found as readonly unknown[]) {
    if (isRecordObject(element)) {
      fields.hasObjects = true;
      observeRecord(fields.tree, element);
    } else if (element !== null) fields.hasOthers = true;
  }
}

describe('the fields of elements', () => {
  it('are the same where many arrays are read as one text', () => {
    fc.assert(
      fc.property(fc.array(array, { minLength: 1, maxLength: 6 }), (texts) => {
        const [plain, single, joined] = [createElementFields(), createElementFields(), createElementFields()];
        for (const text of texts) {
          observePlainly(plain, text);
          observeElements(single, text);
        }
        const arrays = texts.filter((text) => text.startsWith('['));
        if (arrays.length > 0) observeArrays(joined, arrays.join(','));
        expect(packElementFields(single)).toBe(packElementFields(plain));
        expect(packElementFields(joined)).toBe(packElementFields(plain));
      }),
      { seed, numRuns: countRuns(4000) },
    );
  });

  it('come from the same values, however these are parsed', () => {
    fc.assert(
      fc.property(value, (text) => {
        expect(isDeepStrictEqual(parseExactAgain(text), parseExact(text))).toBe(true);
      }),
      { seed, numRuns: countRuns(4000) },
    );
  });

  it('are packed alike whatever the order in which kinds of texts came', () => {
    const pack = (...texts: readonly string[]) => {
      const fields = createElementFields();
      for (const text of texts) observeElements(fields, JSON.stringify([{ a: text }]));
      return packElementFields(fields);
    };
    expect(pack('x', '2026-11-20')).toBe(pack('2026-11-20', 'x'));
    expect(pack('2026-11-20')).not.toBe(pack('x'));
  });
});

describe('a number', () => {
  it('is exact as a double when both are the same decimal', () => {
    fc.assert(
      fc.property(number, (text) => {
        const double = Number(text);
        const isSame =
          Number.isFinite(double) &&
          normalizeDecimal(text) === normalizeDecimal(Object.is(double, -0) ? '-0' : String(double));
        expect(isExactAsDouble(double, text)).toBe(isSame);
        const parsed = parseExactAgain(text);
        expect(parsed instanceof ExactNumber ? parsed.text : parsed).toBe(
          isSame && !(Number.isInteger(double) && !Number.isSafeInteger(double) && /^-?\d+$/.test(text))
            ? double
            : text,
        );
      }),
      { seed, numRuns: countRuns(4000) },
    );
  });
});
