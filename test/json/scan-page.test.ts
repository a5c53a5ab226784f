import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildRecords } from '../../src/json/page-records.ts';
import { scanPage } from '../../src/json/scan-page.ts';
import { slicePath } from '../../src/json/slice-records.ts';
import type { PageRecord } from '../../src/model/page.ts';
import { createElementFields, observeElements, packElementFields } from '../../src/schema/element-fields.ts';
import { pathKey } from '../../src/schema/name-columns.ts';
import {
  createFieldTree,
  type ElementFields,
  type FieldNode,
  type FieldTree,
  isRecordObject,
  observeRecord,
} from '../../src/schema/observe-fields.ts';
import { SeenObserver } from '../../src/schema/observe-seen.ts';
import { formatStagedLines, writeStagedLines } from '../../src/stage/staged-records.ts';
import { hostileJson, oddNames, oddNumbers, spelling, writeHostileJson } from '../support/hostile-rows.ts';
import { countRuns, leastSeen } from '../support/seeds.ts';

const path = ['data'];
const tooDeep = (index: number) => new Error(`record ${index} is too deep`);

function scan(body: string | Buffer) {
  return scanPage(Buffer.from(body), path, tooDeep);
}

/** The records as they are read where everything is parsed. */
function parse(body: string): { readonly records: readonly PageRecord[]; readonly duplicateMembers: number } {
  const { data } = JSON.parse(body) as { data: readonly unknown[] };
  return buildRecords(slicePath(body, path) ?? [], data, tooDeep);
}

function observeParsed(records: readonly PageRecord[]): FieldTree {
  const tree = createFieldTree();
  for (const { value } of records) if (isRecordObject(value)) observeRecord(tree, value);
  return tree;
}

function observeScanned(pages: readonly (readonly PageRecord[])[]): FieldTree {
  const tree = createFieldTree();
  const seen = new SeenObserver(tree);
  for (const { members, value } of pages.flat()) {
    if (members !== undefined) seen.observe(members);
    else if (isRecordObject(value)) observeRecord(tree, value);
  }
  return tree;
}

interface Fields extends Omit<FieldNode, 'children' | 'expected'> {
  readonly children: readonly Fields[];
}

function describeFields({ children, expected: _, ...node }: FieldNode): Fields {
  return { ...node, children: [...children.values()].map(describeFields) };
}

function write(records: readonly string[], around = '"pagination":{"total":7,"offset":0}'): string {
  return `{"data":[${records.join(',')}],${around}}`;
}

function readAll(records: readonly PageRecord[]): readonly object[] {
  return records.map(({ text, value, exact, plain }) => ({ text, value, exact, plain }));
}

// What APIs send, in every place where it may stand.
const scalar = fc.oneof(
  fc.constantFrom('null', 'true', 'false', '""', '"2026-11-20"', '"2026-11-20T08:15:30Z"', '"2026-02-30"'),
  fc.constantFrom('0', '-1', '12.5', '12.50', '-0', '-0.0', '1.0', '0.8412345678901234', '1e3', '01', '1.'),
  fc.constantFrom(...oddNumbers),
  fc.constantFrom(
    '"2026\\u002d11-20"',
    '"caf\\u00e9"',
    '"\\ud83d\\ude00"',
    '"\\ud800"',
    '"\\u0001"',
    '"\\\\u0041"',
  ),
  fc.constantFrom('"a \\"word\\""', '"line\\nbreak"', '"日本"', '"👍"', '"\\x"', '"tab\t"'),
  fc.string({ maxLength: 40 }).map((text) => JSON.stringify(text)),
);
const array = fc.array(scalar, { maxLength: 3 }).map((items) => `[${items.join(', ')}]`);
const name = fc.constantFrom('id', 'date', 'topicId', 'meta', 'tags', 'é', '1st', 'n\\u0061me', '__proto__');
const object = (value: fc.Arbitrary<string>) =>
  fc
    .tuple(fc.array(fc.tuple(name, value), { maxLength: 5 }), fc.constantFrom('', ' ', '\t', '\n', '\r\n  '))
    .map(
      ([members, gap]) =>
        `{${members.map(([key, text]) => `${gap}"${key}"${gap}:${gap}${text}`).join(',')}${gap}}`,
    );
const objects = fc
  .array(object(fc.oneof(scalar, array, object(scalar))), { maxLength: 3 })
  .map((items) => `[${items.join(',')}]`);
const usual = object(
  fc.oneof(
    { weight: 4, arbitrary: scalar },
    array,
    objects,
    object(fc.oneof(scalar, array, objects, object(scalar))),
  ),
);
const hostile = fc
  .tuple(hostileJson(fc.constantFrom('a', 'data', ...oddNames), 3), spelling)
  .map(([value, spelt]) => writeHostileJson(value, spelt));
const records = fc.array(fc.oneof({ weight: 5, arbitrary: usual }, hostile), { maxLength: 6 });

function isValid(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** What the arrays of the fields in a tree hold, by path, as `observeElements` finds it in their values. */
function readElements(tree: FieldTree, values: readonly unknown[]): ReadonlyMap<string, string> {
  const found = new Map<string, ElementFields>();
  const look = ({ path, children }: FieldNode, inside: readonly unknown[]) => {
    const arrays = inside
      .filter((value) => Array.isArray(value))
      .filter((value) => value.some((one) => one !== null))
      .map((value) => JSON.stringify(value));
    for (const text of arrays) {
      const fields = found.get(pathKey(path)) ?? createElementFields();
      found.set(pathKey(path), fields);
      observeElements(fields, text);
    }
    const objects = inside.filter((value) => isRecordObject(value));
    for (const [key, child] of children)
      look(
        child,
        objects.flatMap((one) => (Object.hasOwn(one, key) ? [one[key]] : [])),
      );
  };
  look(tree.root, values);
  return new Map([...found].map(([key, fields]) => [key, packElementFields(fields)]));
}

function listElements({ root, inArrays }: FieldTree): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const look = (node: FieldNode) => {
    const fields = inArrays.byField.get(node);
    if (fields !== undefined) found.set(pathKey(node.path), packElementFields(fields));
    for (const child of node.children.values()) look(child);
  };
  look(root);
  return found;
}

// As deep as fields of elements are looked at, and deeper.
const inElement = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { weight: 3, arbitrary: scalar },
    { weight: 1, arbitrary: fc.constantFrom('"123456789012345"', '"\\u0031234567890123456"', '"1\\u0065"') },
    { weight: 2, arbitrary: object(tie('value')) },
    { weight: 2, arbitrary: fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(',')}]`) },
  ),
})).value;
const withElements = fc
  .record({ n: fc.nat(3), list: inElement, more: inElement, depth: fc.nat(9) })
  .map(
    ({ n, list, more, depth }) =>
      `{"n":${n},"list":[${list}],"meta":{"list":[${more},{"a":${'{"a":'.repeat(depth)}${more}${'}'.repeat(depth)}}]},"other":${more}}`,
  );

describe('scanPage', () => {
  it('reads the same records, fields and staged lines as a parser does, and takes nothing that is not valid', () => {
    let scanned = 0;
    fc.assert(
      fc.property(fc.array(records, { minLength: 1, maxLength: 3 }), (pages) => {
        const bodies = pages.map((page) => write(page));
        const found = bodies.map((body) => scan(body));
        for (const [at, page] of found.entries())
          if (page !== undefined) expect(isValid(bodies[at] ?? '')).toBe(true);
        const usable = found.flatMap((page, at) =>
          page === undefined ? [] : [{ page, parsed: parse(bodies[at] ?? '') }],
        );
        for (const { page, parsed } of usable) {
          scanned += page.records.filter(({ members }) => members !== undefined).length;
          expect(page.duplicateMembers).toBe(parsed.duplicateMembers);
          // A text that only looks like an odd escape is plain to the one that reads it byte by byte.
          expect(readAll(page.records)).toEqual(readAll(parsed.records));
          expect(String(writeStagedLines(98, page.records, (size) => Buffer.alloc(size)).lines)).toBe(
            formatStagedLines(98, parsed.records),
          );
        }
        const tree = observeScanned(usable.map(({ page }) => page.records));
        const expected = observeParsed(usable.flatMap(({ parsed }) => parsed.records));
        expect(tree.records).toBe(expected.records);
        expect(describeFields(tree.root)).toEqual(describeFields(expected.root));
      }),
      { numRuns: countRuns(2_500) },
    );
    expect(scanned).toBeGreaterThan(leastSeen(500));
  });

  it('sees in arrays what reading their values shows', () => {
    let compared = 0;
    fc.assert(
      fc.property(fc.array(fc.oneof(withElements, usual), { minLength: 1, maxLength: 8 }), (page) => {
        const known = scan(write(page))?.records.filter(({ members }) => members !== undefined) ?? [];
        const tree = observeScanned([known]);
        if (tree.inArrays.records !== tree.records) return;
        const found = listElements(tree);
        compared += found.size;
        expect(found).toEqual(
          readElements(
            tree,
            known.map(({ value }) => value),
          ),
        );
      }),
      { numRuns: countRuns(5_000) },
    );
    expect(compared).toBeGreaterThan(leastSeen(500));
  });

  it('leaves arrays to others where an object in them may be a map', () => {
    const named = (from: number, count: number) =>
      Array.from({ length: count }, (_, at) => `"k${from + at}":1`).join(',');
    const see = (...pages: readonly string[]) => {
      const { inArrays, records: all } = observeScanned(
        pages.map((one) => scan(write([one]))?.records ?? []),
      );
      return inArrays.records === all;
    };
    expect(see('{"list":[{"a":1}]}')).toBe(true);
    expect(see(`{"list":[{${named(0, 150)}}]}`, `{"list":[{${named(200, 150)}}]}`)).toBe(false);
    expect(see(`{"list":[{"a":{${named(0, 150)}}}]}`, `{"list":[{"a":{${named(200, 150)}}}]}`)).toBe(false);
    expect(see('{"list":[{"a":1}]}', '{"list":[{"a":1e3}]}')).toBe(true);
    expect(see('{"list":[{"a":1}]}', '{"list":[{"a":"\\u0001"}]}')).toBe(false);
  });

  it('never takes an answer that a single changed byte made invalid, nor reads another than a parser', () => {
    const body = Buffer.from(
      write([
        '{"id":"a-1","n":-12.5,"ok":true,"none":null,"tags":["x",[1,2.5]],"meta":{"k":"v\\n\\u00e9","m":{}},"text":"日本"}',
        '{"id":"a-2","n":0,"ok":false,"none":null,"tags":[],"meta":{"k":"","m":{"z":1}},"text":"plain"}',
      ]),
    );
    fc.assert(
      fc.property(
        fc.nat(body.length - 1),
        fc.oneof(fc.nat(255), fc.constantFrom(...Buffer.from('"\\{}[],:0123eE.-+ntfu \n\t'))),
        (at, byte) => {
          const changed = Buffer.from(body);
          changed[at] = byte;
          const found = scan(changed);
          if (found === undefined) return;
          const text = new TextDecoder('utf-8', { fatal: true }).decode(changed);
          expect(isValid(text)).toBe(true);
          expect(readAll(found.records)).toEqual(readAll(parse(text).records));
          const { data: _, ...around } = JSON.parse(text) as Record<string, unknown>;
          expect(found.value).toMatchObject(around);
        },
      ),
      { numRuns: countRuns(4_000) },
    );
  });

  it('reads records over several lines, each as one', () => {
    const values = [{ id: 'a', list: [{ n: 1.5 }, null], meta: { text: 'line\nbreak' } }, { id: 'é' }];
    const body = JSON.stringify({ data: values, pagination: {} }, null, 2).replaceAll('\n', '\r\n');
    const found = scan(body)?.records ?? [];
    expect(found.map(({ members, plain }) => members !== undefined && plain)).toEqual([true, true]);
    expect(found.map(({ text }) => text).join('')).not.toMatch(/[\r\n]/);
    expect(found.map(({ value }) => value)).toEqual(values);
    expect(readAll(found)).toEqual(readAll(parse(body).records));
    expect(found.map(({ bytes }) => bytes)).toEqual([undefined, undefined]);
    expect(scan(body.replace('line\\n', 'line\n'))).toBeUndefined();
  });

  it('leaves records as bytes that have line breaks around them only', () => {
    const body = '{"data":[\n{"id":1},\r\n{"id":2,\n"n":3},\n{"id":4}\n]}\n';
    const found = scan(body)?.records ?? [];
    expect(found.map(({ bytes }) => bytes !== undefined)).toEqual([true, false, true]);
    expect(readAll(found)).toEqual(readAll(parse(body).records));
  });

  it('parses no record of an ordinary page', () => {
    const found = scan(
      write(
        Array.from(
          { length: 50 },
          (_, n) =>
            `{"id": "r-${n}", "n": ${n / 8}, "tags": ["a"], "sources": [{"url": "u", "at": [{"n": 1}]}, {"url": null}]}`,
        ),
      ),
    );
    expect(found?.records.every(({ members }) => members !== undefined)).toBe(true);
    expect(found?.value).toMatchObject({ pagination: { total: 7, offset: 0 } });
  });

  it('reads pages of several streams in turn, however many names they have together', () => {
    const page = (stream: number, at: number) =>
      write(
        Array.from({ length: 3 }, (_, n) => {
          const own = Array.from({ length: 40 }, (_, member) => `"s${stream}_${member}":${n}`);
          return `{"id":${at + n},"meta":{"n":null,"of":"${stream}"},${own.join(',')}}`;
        }),
      );
    // More streams than have room together, and each comes back when its names were met before, or forgotten.
    const order = Array.from({ length: 40 }, (_, at) => (at * 7) % 11);
    const found = order.map((stream, at) => ({ stream, records: scan(page(stream, at))?.records ?? [] }));
    for (const stream of new Set(order)) {
      const pages = found.filter((one) => one.stream === stream).map(({ records }) => records);
      expect(pages.flat().every(({ members }) => members !== undefined)).toBe(true);
      expect(describeFields(observeScanned(pages).root)).toEqual(
        describeFields(observeParsed(pages.flat()).root),
      );
    }
  });

  it('parses the few records of a page that it cannot read', () => {
    const found = scan(
      write([
        '{"n":1}',
        '{"n":"\\u0001"}',
        '{"n":[{"a":1},{"a":2,"b":{"a":3}}]}',
        '{"n":[{"a":1,"a":2}]}',
        '{"n":2,"n":3}',
        '{"n":9223372036854775808}',
        '{"n":9223372036854775807}',
        '{"n":[-1.5E-07, 1.0]}',
      ]),
    );
    expect(found?.records.map(({ members }) => members !== undefined)).toEqual([
      true,
      false,
      true,
      false,
      false,
      true,
      true,
      true,
    ]);
    expect(found?.duplicateMembers).toBe(2);
    expect(found?.records.map(({ exact, plain }) => [exact, plain])).toEqual([
      [false, true],
      [false, false],
      [false, true],
      [false, false],
      [false, false],
      [true, false],
      [true, true],
      [false, false],
    ]);
  });

  it.each([
    ['no records', write([])],
    ['records that are no objects', write(['1', '{}'])],
    ['many records that have to be parsed', write(Array.from({ length: 20 }, () => '{"n":"\\u0001"}'))],
    ['records elsewhere', '{"rows":[{"id":1}],"pagination":{}}'],
    ['a member of that name before the one that counts', '{"data":[{"id":1}],"data":[{"id":2}]}'],
    ['a member of that name below', '{"meta":{"data":[{"id":1}]},"rows":[]}'],
    ['a text that holds what looks like them', '{"text":"\\"data\\":[{}]","rows":[]}'],
    ['a byte order mark', `\ufeff${write(['{"id":1}'])}`],
    [
      'escapes outside of the records, which may spell what stands in their place',
      String.raw`{"data":[{"id":7}],"d\u0061ta":["the records of this p\u0061ge"]}`,
    ],
    ['an answer of more than a megabyte', write([`{"id":"${'x'.repeat(2 ** 20)}"}`])],
    ['something behind the document', `${write(['{"id":1}'])}{}`],
  ])('leaves %s to the parser', (_, body) => {
    expect(scan(body)).toBeUndefined();
  });

  it('leaves what is not UTF-8 to the parser, which refuses it', () => {
    expect(
      scan(Buffer.concat([Buffer.from('{"data":[{"a":"'), Buffer.from([0xc3]), Buffer.from('"}]}')])),
    ).toBeUndefined();
  });
});
