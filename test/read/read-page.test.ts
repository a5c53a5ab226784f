import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { connectors } from '../../connectors/registry.ts';
import { ExactNumber } from '../../src/json/exact-number.ts';
import { ResponseError } from '../../src/model/errors.ts';
import type { ApiResponse } from '../../src/model/http.ts';
import type { Page } from '../../src/model/page.ts';
import type { Stream } from '../../src/model/stream.ts';
import { parseBody, readPage } from '../../src/read/read-page.ts';
import { hostileJson, oddNames, spelling, writeHostileJson } from '../support/hostile-rows.ts';
import { isSameJson, readPlainJson } from '../support/plain-json.ts';
import { makeStream, NOW_MS } from '../support/fixtures.ts';
import { countRuns } from '../support/seeds.ts';

const { paging } = connectors['analytics-read'];

function answer(
  body: string | Uint8Array,
  parts: { readonly offset?: number; readonly type?: string } = {},
): ApiResponse {
  return {
    request: {
      stream: 'items',
      url: new URL('https://api.example.com/api/v1/items?limit=100&offset=0'),
      offset: parts.offset ?? 0,
    },
    status: 200,
    headers: { 'content-type': parts.type ?? 'application/json' },
    body: Buffer.from(body),
    serverDateMs: NOW_MS,
  };
}

function envelope(data: string, pagination = '"total":2,"limit":100,"offset":0,"hasMore":false'): string {
  return `{"data":${data},"pagination":{${pagination}}}`;
}

function read(body: string | Uint8Array, stream: Partial<Stream> = {}, offset = 0): Page {
  return readPage(makeStream(stream), answer(body, { offset }), paging);
}

function valuesOf({ records }: Page): readonly unknown[] {
  return records.map(({ value }) => value);
}

/** The error a reading throws. */
function errorOf(reading: () => unknown): ResponseError {
  try {
    reading();
  } catch (error) {
    if (error instanceof ResponseError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('parseBody', () => {
  it.each([
    ['an empty body', ''],
    ['white space', ' \n'],
    ['HTML', '<!doctype html><title>Sign in</title>'],
    ['half a document', '{"data":[{"id":1}'],
    ['two documents', '{"data":[]}{"data":[]}'],
    ['NaN', '{"data":[NaN]}'],
    ['Infinity', '{"data":[Infinity]}'],
    ['a comment', '{"data":[] /* none */}'],
    ['bytes that are not UTF-8', new Uint8Array([0x7b, 0x22, 0xe9, 0x22, 0x3a, 0x31, 0x7d])],
    ['half a character at the end', new Uint8Array([0x22, 0xf0, 0x9f, 0x98, 0x22])],
    ['a gzip body', new Uint8Array([0x1f, 0x8b, 0x08, 0x00])],
  ])('takes %s for a passing fault', (_, body) => {
    const error = errorOf(() => parseBody(answer(body, { type: 'text/html' })));
    expect([error.code, error.exitCode, error.context.stream, error.context.offset]).toEqual([
      'page_unreadable',
      4,
      'items',
      0,
    ]);
    expect(error.message).toContain('items at offset 0 (/api/v1/items, status 200)');
    expect(error.message).toContain('content-type text/html');
    expect(error.message).not.toMatch(/[\u0000-\u001f\u007f]/);
  });

  it('accepts a byte order mark', () => {
    expect(parseBody(answer('\ufeff{"a":1}'))).toEqual({ text: '{"a":1}', value: { a: 1 } });
  });

  it('reads 200,000 levels of nesting that are not a record', () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    expect(read(`{"extra":${deep},"data":[1],"pagination":{"total":1}}`).records).toHaveLength(1);
  });

  it('shows little of a foreign text, and that without control characters', () => {
    const error = errorOf(() => parseBody(answer(`\u001b[31m${'x'.repeat(100_000)}`)));
    expect(error.message.length).toBeLessThan(800);
    expect(error.message).not.toContain('\u001b');
  });
});

describe('readPage', () => {
  it('reads records, total and hasMore', () => {
    const page = read(envelope('[{"id":1},{"id":2}]'));
    expect(page).toMatchObject({
      offset: 0,
      total: 2,
      hasMore: false,
      duplicateMembers: 0,
      serverDateMs: NOW_MS,
    });
    const records = page.records.map(({ text, value, exact, plain }) => ({ text, value, exact, plain }));
    expect(records).toEqual([
      { text: '{"id":1}', value: { id: 1 }, exact: false, plain: true },
      { text: '{"id":2}', value: { id: 2 }, exact: false, plain: true },
    ]);
  });

  it('reads any records exactly, whatever is around them', () => {
    const names = fc.constantFrom('data', 'pagination', 'total', ...oddNames);
    const record = fc
      .tuple(hostileJson(names, 3), spelling)
      .map(([value, spelt]) => writeHostileJson(value, spelt));
    fc.assert(
      fc.property(fc.array(record, { maxLength: 4 }), record, (records, other) => {
        // Of two members called data the last counts.
        const page = read(
          `{"data":[0],"meta":{"data":${other}},"data" :\n[${records.join(' ,\n')}],"pagination":{"total":9,"hasMore":true}}`,
        );
        expect(page.records.length).toBe(records.length);
        for (const [at, { text, value }] of page.records.entries()) {
          const expected = readPlainJson(records[at] ?? '');
          expect(isSameJson(readPlainJson(text), expected)).toBe(true);
          expect(isSameJson(readPlainJson(JSON.stringify(value)), expected)).toBe(true);
        }
      }),
      { numRuns: countRuns(500) },
    );
  });

  it('keeps numbers that a double would change', () => {
    const { records } = read(envelope('[{"id":9007199254740993,"v":1.5}]'));
    expect(records.map(({ text, value, exact, plain }) => ({ text, value, exact, plain }))).toEqual([
      {
        text: '{"id":9007199254740993,"v":1.5}',
        value: { id: new ExactNumber('9007199254740993'), v: 1.5 },
        exact: true,
        plain: true,
      },
    ]);
  });

  it('reads a later page at the offset that was asked for', () => {
    expect(read(envelope('[1]', '"total":200,"offset":99,"hasMore":true'), {}, 99)).toMatchObject({
      offset: 99,
      total: 200,
      hasMore: true,
    });
  });

  it('reads the records where config says they are', () => {
    const body = '{"result":{"rows":[[{"id":1}],[{"id":2},{"id":3}]]},"data":[],"pagination":{"total":2}}';
    expect(valuesOf(read(body, { recordsPointer: '/result/rows/1' }))).toEqual([{ id: 2 }, { id: 3 }]);
    expect(read(body, { recordsPointer: '/result/rows/1' }).records.map(({ text }) => text)).toEqual([
      '{"id":2}',
      '{"id":3}',
    ]);
  });

  it('counts records that name a member twice, also those with long numbers and deep inside', () => {
    const twice = ['{"a":1,"a":2}', '{"n":9007199254740993,"a":1,"a":2}', '{"l":[{"b":{"c":1,"c":1}}]}'];
    const once = [
      '{"a":1}',
      '{"a":{"a":1}}',
      '{"n":9007199254740993}',
      '[]',
      '9007199254740993',
      'null',
      '{}',
    ];
    expect(read(envelope(`[${[...twice, ...once].join(',')}]`)).duplicateMembers).toBe(twice.length);
    expect(read(envelope(`[${once.join(',')}]`)).duplicateMembers).toBe(0);
  });

  it('does without a total when hasMore tells, and without hasMore when a total does', () => {
    expect(read(envelope('[]', '"hasMore":true'))).toMatchObject({ total: undefined, hasMore: true });
    expect(read(envelope('[]', '"total":null,"hasMore":false'))).toMatchObject({
      total: undefined,
      hasMore: false,
    });
    expect(read(envelope('[]', '"total":5'))).toMatchObject({ total: 5, hasMore: undefined });
    expect(read(envelope('[]', '"total":5,"hasMore":"true"'))).toMatchObject({
      total: 5,
      hasMore: undefined,
    });
  });

  it.each([
    ['no member data', '{"items":[],"pagination":{"total":0}}'],
    ['data that is an object', envelope('{}')],
    ['data that is null', envelope('null')],
    ['data that is text', envelope('"[]"')],
    ['an array at the top', '[{"id":1}]'],
    ['a number at the top', '5'],
    ['null at the top', 'null'],
    ['inherited members only', '{"constructor":1}'],
    ['a total in quotes', envelope('[]', '"total":"5"')],
    ['a negative total', envelope('[]', '"total":-1')],
    ['a fractional total', envelope('[]', '"total":1.5')],
    ['a total beyond 2^53', envelope('[]', '"total":9007199254740993')],
    ['a boolean total', envelope('[]', '"total":true,"hasMore":false')],
    ['another offset', envelope('[]', '"total":5,"offset":1')],
    ['an offset in quotes', envelope('[]', '"total":5,"offset":"0"')],
    ['neither total nor hasMore', envelope('[]', '')],
    ['hasMore in quotes and no total', envelope('[]', '"hasMore":"true"')],
    ['hasMore as a number and no total', envelope('[]', '"hasMore":1')],
    ['no pagination', '{"data":[]}'],
    ['an error', '{"error":{"code":"RATE_LIMITED","message":"slow down"}}'],
    ['an error beside data', '{"error":{"message":"partial"},"data":[],"pagination":{"total":0}}'],
    ['an error that is a text', '{"error":"the store is down"}'],
    [
      'a text of an error in place of records',
      '{"error":"the store is down","data":[],"pagination":{"total":0}}',
    ],
    [
      'a list of errors in place of records',
      '{"errors":[{"message":"the store is down"}],"data":[],"pagination":{"total":0}}',
    ],
    ['a record nested too deep', envelope(`[${'['.repeat(501)}${']'.repeat(501)}]`)],
  ])('refuses %s', (_, body) => {
    const error = errorOf(() => read(body));
    expect([error.code, error.exitCode, error.recovery]).toEqual(['response_invalid', 4, 'stop-stream']);
    expect(error.message).toContain('items at offset 0');
    expect(error.hint).not.toBe('');
  });

  it('shows an error’s code and message, cut and without control characters', () => {
    const message = `\u001b[2J${'x'.repeat(2_000)}`;
    const error = errorOf(() => read(JSON.stringify({ error: { code: 'TEAPOT', message } })));
    expect(error.message).toContain('TEAPOT');
    expect(error.message).toContain('status 200');
    expect(error.message.length).toBeLessThan(800);
    expect(error.message).not.toContain('\u001b');
  });

  it('takes a member called error that is not an error for data', () => {
    for (const error of ['"error":null', '"error":"0.5 %"', '"errors":[1]', '"errors":[]', '"error":""']) {
      expect(read(`{${error},"data":[1],"pagination":{"total":1}}`).records).toHaveLength(1);
    }
    for (const error of ['"error":null', '"error":false', '"errors":[]', '"errors":{}', '"error":""']) {
      expect(read(`{${error},"data":[],"pagination":{"total":0}}`).records).toHaveLength(0);
    }
  });

  it('reads a record of 500 levels', () => {
    const deep = `${'['.repeat(500)}9007199254740993${']'.repeat(500)}`;
    expect(JSON.stringify(read(envelope(`[${deep}]`)).records[0]?.value)).toBe(deep);
  });
});
