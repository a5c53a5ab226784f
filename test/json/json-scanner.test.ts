import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type JsonFlaw, type JsonKind, JsonScanner, type ScanListener } from '../../src/json/json-scanner.ts';
import { hostileJson, oddNames, oddNumbers, spelling, writeHostileJson } from '../support/hostile-rows.ts';
import { countRuns } from '../support/seeds.ts';

const blind: ScanListener = { name: () => undefined, begin: () => false, end: () => undefined };

/** What is wrong with bytes that come in chunks of these lengths, the last one as often as it takes. */
function findFlaw(
  bytes: Uint8Array,
  lengths: readonly number[] = [],
  listener = blind,
): JsonFlaw | undefined {
  const scanner = new JsonScanner(listener);
  for (const chunk of cut(bytes, lengths)) if (!scanner.push(chunk)) return scanner.flaw;
  scanner.finish();
  return scanner.flaw;
}

function cut(bytes: Uint8Array, lengths: readonly number[]): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (let at = 0, n = 0; at < bytes.length; n += 1) {
    const length = Math.max(1, lengths[Math.min(n, lengths.length - 1)] ?? bytes.length);
    chunks.push(bytes.subarray(at, at + length));
    at += length;
  }
  return chunks;
}

/** Whether the runtime's own decoder and parser take the bytes for a document. */
function isDocument(bytes: Uint8Array): boolean {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return true;
  } catch {
    return false;
  }
}

function expectAgreement(bytes: Uint8Array, lengths: readonly number[]): void {
  const flaw = findFlaw(bytes, lengths);
  const shown = `${Buffer.from(bytes).toString('latin1')} in ${lengths.join()}: ${flaw?.reason}`;
  expect([shown, flaw === undefined]).toEqual([shown, isDocument(bytes)]);
}

const names = fc.constantFrom('data', 'a', ...oddNames);
const documentText = fc
  .tuple(hostileJson(names, 4), spelling)
  .map(([value, spelt]) => writeHostileJson(value, spelt));
const chunkLengths = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 6 });

describe('JsonScanner', () => {
  it('accepts every document, however it is written and cut into chunks', () => {
    fc.assert(
      fc.property(documentText, chunkLengths, (text, lengths) => {
        expect(findFlaw(Buffer.from(text), lengths)).toBeUndefined();
      }),
      { numRuns: countRuns(1_000) },
    );
  });

  it('refuses an array or an object that is cut at any byte', () => {
    fc.assert(
      fc.property(documentText, fc.nat(), chunkLengths, (text, at, lengths) => {
        const bytes = Buffer.from(`{"data":${text}}`);
        expect(findFlaw(bytes.subarray(0, at % bytes.length), lengths)).toBeDefined();
      }),
      { numRuns: countRuns(1_000) },
    );
  });

  it('decides as the parser does about documents with bytes changed, added or left out', () => {
    const edit = fc.record({
      at: fc.nat(),
      left: fc.integer({ min: 0, max: 2 }),
      put: fc.array(
        fc.oneof(
          fc.constantFrom(...Buffer.from('{}[]",:\\/u0123456789+-.eEtrufalsn \n\t\r\u0000\u001f')),
          fc.integer({ min: 0, max: 255 }),
        ),
        { maxLength: 2 },
      ),
    });
    fc.assert(
      fc.property(
        documentText,
        fc.array(edit, { minLength: 1, maxLength: 3 }),
        chunkLengths,
        (text, edits, lengths) => {
          let bytes = Buffer.from(text);
          for (const { at, left, put } of edits) {
            const place = at % (bytes.length + 1);
            bytes = Buffer.concat([bytes.subarray(0, place), Buffer.from(put), bytes.subarray(place + left)]);
          }
          expectAgreement(bytes, lengths);
        },
      ),
      { numRuns: countRuns(5_000) },
    );
  });

  it('decides as the parser does about any bytes', () => {
    const bytes = fc.array(fc.constantFrom(...Buffer.from('[]{}",:1-0.e+ \\ntrue\u00e9')), { maxLength: 8 });
    fc.assert(
      fc.property(bytes, chunkLengths, (given, lengths) => {
        expectAgreement(Buffer.from(given), lengths);
      }),
      { numRuns: countRuns(20_000) },
    );
  });

  it.each([
    '',
    ' ',
    '\ufeff',
    '\ufeff1',
    '\ufeff\ufeff1',
    ' \ufeff1',
    '1',
    ' 1 ',
    '01',
    '-',
    '-0',
    '-01',
    '1.',
    '.5',
    '1.5',
    '1e',
    '1e+',
    '1e+5',
    '1E-05',
    '+1',
    '1 2',
    '0x10',
    '1_000',
    'NaN',
    'Infinity',
    'tru',
    'true',
    'truex',
    'True',
    'nul',
    'null',
    'falsefalse',
    '"',
    '"a',
    '"a"',
    '"\t"',
    '"\u007f\u0080"',
    '"\\u12"',
    '"\\u12g4"',
    '"\\uD800"',
    '"\\x41"',
    '"\\"',
    '[',
    ']',
    '[]',
    '[ ]',
    '[,]',
    '[1,]',
    '[1 2]',
    '[1}',
    '{',
    '}',
    '{}',
    '{ }',
    '{,}',
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    '{"a":1 "b":2}',
    '{"a":1}{"b":2}',
    '{"a":1}\n{"b":2}',
    '{a:1}',
    "{'a':1}",
    '{1:1}',
    '{"a":1]',
    '[1]x',
    '[1] ',
    '[1]\u0000',
    '[1]\u00a0',
    '/* */1',
    '{"data":[] /* none */}',
    '<!doctype html>',
    'a'.repeat(40_000),
    ...oddNumbers,
  ])('decides as the parser does about %j', (text) => {
    const bytes = Buffer.from(text);
    for (const lengths of [[], [1], [2], [3]]) expectAgreement(bytes, lengths);
  });

  it.each([
    [[0x22, 0xe9, 0x22]],
    [[0x22, 0xf0, 0x9f, 0x98, 0x22]],
    [[0x22, 0xed, 0xa0, 0x80, 0x22]],
    [[0x22, 0xc0, 0xaf, 0x22]],
    [[0x22, 0xf4, 0x90, 0x80, 0x80, 0x22]],
    [[0x22, 0x80, 0x22]],
    [[0x22, 0xf0, 0x9f, 0x98]],
    [[0xef, 0xbb]],
    [[0xef, 0xbb, 0x31]],
    [[0xef, 0xbb, 0x80, 0x31]],
    [[0xff, 0xfe, 0x31, 0x00]],
    [[0x1f, 0x8b, 0x08, 0x00]],
  ])('decides as the decoder does about the bytes %j', (bytes) => {
    for (const lengths of [[], [1], [2], [3]]) expectAgreement(Uint8Array.from(bytes), lengths);
  });

  it('accepts characters of four bytes in chunks of any length', () => {
    const bytes = Buffer.from(JSON.stringify({ '𝒜': '👍🏽é日本' }));
    for (let length = 1; length < 12; length += 1) expect(findFlaw(bytes, [length])).toBeUndefined();
  });

  it('says what is wrong, and at which byte', () => {
    expect(findFlaw(Buffer.from('{"a":[1,2}'))).toEqual({
      reason: 'a comma or the end of the array or object was expected',
      at: 9,
    });
    expect(findFlaw(Buffer.from('[1] 2'), [1])).toEqual({ reason: 'the document had ended', at: 4 });
    expect(findFlaw(Buffer.from('[1'))).toEqual({ reason: 'it ends too early', at: 2 });
    expect(findFlaw(Buffer.alloc(0))).toEqual({ reason: 'it is empty', at: 0 });
    expect(findFlaw(Buffer.from('["\n"]'))?.at).toBe(2);
    expect(findFlaw(Buffer.from([0x22, 0xff, 0x22]))?.reason).toBe('it is not UTF-8 text');
  });

  it('stays refused, whatever comes after', () => {
    const scanner = new JsonScanner(blind);
    expect([scanner.push(Buffer.from('[}')), scanner.push(Buffer.from(']')), scanner.finish()]).toEqual([
      false,
      false,
      false,
    ]);
    expect(scanner.flaw?.at).toBe(1);
  });

  it('reads a million levels', () => {
    const levels = 1_000_000;
    expect(findFlaw(Buffer.from(`${'['.repeat(levels)}${']'.repeat(levels)}`), [65_536])).toBeUndefined();
    expect(findFlaw(Buffer.from(`${'['.repeat(levels)}${']'.repeat(levels - 1)}`), [65_536])).toBeDefined();
  });

  it('gives up levels without end', () => {
    const chunk = Buffer.alloc(1 << 20, '[');
    const scanner = new JsonScanner(blind);
    let pushes = 0;
    while (scanner.push(chunk) && pushes < 64) pushes += 1;
    expect(scanner.flaw?.reason).toMatch(/nested more than/);
  });
});

describe('a listener', () => {
  function record(text: string, follows: (kind: JsonKind) => boolean, lengths: readonly number[]): string[] {
    const told: string[] = [];
    findFlaw(Buffer.from(text), lengths, {
      name: (name) => told.push(`name ${name ?? '?'}`),
      begin: (kind, at) => {
        told.push(`${kind} ${at}`);
        return follows(kind);
      },
      end: (at, kept) => told.push(kept === undefined ? `end ${at}` : `end ${at} ${kept}`),
    });
    return told;
  }

  it('hears of the members and elements of what it follows, and of nothing else', () => {
    const text = ' {"a\\u0062" : [1, {"x":2}],"c":"t\\n" , "d":-1.5e3,"e":null}';
    for (const lengths of [[], [1], [4]]) {
      expect(record(text, (kind) => kind !== 'array', lengths)).toEqual([
        'object 1',
        'name ab',
        'array 14',
        'end 26',
        'name c',
        'string 31',
        'end 36 "t\\n"',
        'name d',
        'number 43',
        'end 49 -1.5e3',
        'name e',
        'null 54',
        'end 58 null',
        'end 59',
      ]);
    }
    expect(record(text, () => false, [3])).toEqual(['object 1', 'end 59']);
    expect(record('[[1],2]', (kind) => kind === 'array', [1])).toEqual([
      'array 0',
      'array 1',
      'number 2',
      'end 3',
      'end 4',
      'number 5',
      'end 6',
      'end 7',
    ]);
  });

  it('hears of a number that ends with the document', () => {
    expect(record('12', () => true, [1])).toEqual(['number 0', 'end 2 12']);
  });

  it('is given the beginning of a long text, and no name of one', () => {
    const long = 'x'.repeat(40_000);
    const told = record(`{"${long}":"${long}"}`, () => true, [1_000]);
    expect(told[1]).toBe('name ?');
    expect(told[3]?.length).toBeLessThan(17_000);
    expect(told[3]).toContain('"xxx');
  });
});
