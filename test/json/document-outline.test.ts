import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DocumentOutline } from '../../src/json/document-outline.ts';
import { JsonScanner } from '../../src/json/json-scanner.ts';
import { joinPointer, splitPointer } from '../../src/json/pointer.ts';
import { hostileJson, oddNames, spelling, writeHostileJson } from '../support/hostile-rows.ts';
import { countRuns } from '../support/seeds.ts';

function outline(
  text: string,
  paths: readonly (readonly string[])[],
  chunkLength = text.length,
): DocumentOutline {
  const found = new DocumentOutline(paths);
  const scanner = new JsonScanner(found);
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += chunkLength)
    scanner.push(bytes.subarray(at, at + Math.max(1, chunkLength)));
  expect([text, scanner.finish()]).toEqual([text, true]);
  return found;
}

/** The value at a path, as the runtime's own parser reads the document. */
function valueAt(document: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, name) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, name)
        ? (value as Record<string, unknown>)[name]
        : undefined,
    document,
  );
}

function textAt(text: string, place: { readonly start: number; readonly end: number | undefined }): string {
  return Buffer.from(text).subarray(place.start, place.end).toString();
}

// Few names, so that they repeat and paths meet something.
const names = fc.constantFrom('data', 'a', '0', '1', '__proto__', oddNames[0] ?? '');
const documentText = fc
  .tuple(hostileJson(names, 4), spelling)
  .map(([value, spelt]) => writeHostileJson(value, spelt));
const paths = fc.array(fc.array(names, { maxLength: 3 }), { maxLength: 4 });

describe('DocumentOutline', () => {
  it('knows where the values at its paths are, and that none is where there is none', () => {
    fc.assert(
      fc.property(documentText, paths, fc.integer({ min: 1, max: 30 }), (text, watched, chunkLength) => {
        const found = outline(text, watched, chunkLength);
        const document: unknown = JSON.parse(text);
        for (const path of [[], ...watched]) {
          const expected = valueAt(document, path);
          const place = found.at(path);
          if (expected === undefined) {
            expect([text, path, place]).toEqual([text, path, undefined]);
            continue;
          }
          expect(JSON.parse(textAt(text, place ?? { start: 0, end: 0 }))).toEqual(expected);
          if (Array.isArray(expected)) expect([text, place?.count]).toEqual([text, expected.length]);
        }
      }),
      { numRuns: countRuns(3_000) },
    );
  });

  it('knows the only array at the top, by its last value', () => {
    fc.assert(
      fc.property(documentText, fc.integer({ min: 1, max: 30 }), (text, chunkLength) => {
        const found = outline(text, [['data']], chunkLength);
        const document: unknown = JSON.parse(text);
        const isObject = typeof document === 'object' && document !== null && !Array.isArray(document);
        const arrays = isObject ? Object.entries(document).filter(([, member]) => Array.isArray(member)) : [];
        const { onlyArray } = found;
        expect([text, onlyArray?.name]).toEqual([text, arrays.length === 1 ? arrays[0]?.[0] : undefined]);
        if (onlyArray !== undefined)
          expect(JSON.parse(textAt(text, onlyArray.place))).toEqual(arrays[0]?.[1]);
        if (isObject) expect(found.names.toSorted()).toEqual(Object.keys(document).toSorted().slice(0, 8));
      }),
      { numRuns: countRuns(3_000) },
    );
  });

  it('keeps the text of scalars it watches', () => {
    const { at } = bind(
      outline('{"error":{"code":"X\\u0021","n":-1.50}}', [
        ['error', 'code'],
        ['error', 'n'],
      ]),
    );
    expect([at(['error', 'code'])?.text, at(['error', 'n'])?.text]).toEqual(['"X\\u0021"', '-1.50']);
  });

  it('shows what has begun and not ended', () => {
    const found = new DocumentOutline([['data']]);
    new JsonScanner(found).push(Buffer.from('{"meta":{},"data":[{"id":1},{"id":2},{'));
    expect(found.at(['data'])).toMatchObject({ kind: 'array', start: 18, end: undefined, count: 3 });
  });

  it('holds little of an object with arrays without end', () => {
    const arrays = Array.from({ length: 1_001 }, (_, n) => `"m${n}":[]`).join(',');
    const found = outline(`{${arrays}}`, []);
    expect([found.onlyArray, found.names.length]).toEqual([undefined, 8]);
  });

  it('distinguishes arrays under names too long to be kept', () => {
    const long = 'x'.repeat(20_000);
    const one = outline(`{"${long}":[1]}`, []).onlyArray;
    expect([one?.name, one?.place.count]).toEqual([undefined, 1]);
    expect(outline(`{"${long}1":[1],"${long}2":[]}`, []).onlyArray).toBeUndefined();
  });
});

describe('a JSON pointer', () => {
  it('is read as it was written', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { maxLength: 4 }), (path) => {
        expect(splitPointer(joinPointer(path))).toEqual(path);
      }),
    );
    expect(splitPointer('/a~1b~0c/0')).toEqual(['a/b~c', '0']);
    expect(splitPointer('')).toEqual([]);
  });
});

function bind(found: DocumentOutline) {
  return { at: (path: readonly string[]) => found.at(path) };
}
