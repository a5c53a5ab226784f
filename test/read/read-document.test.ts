import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { connectors } from '../../connectors/registry.ts';
import { ExactNumber } from '../../src/json/exact-number.ts';
import type { RecordBatch } from '../../src/json/page-records.ts';
import { ResponseError } from '../../src/model/errors.ts';
import type { PageRecord } from '../../src/model/page.ts';
import type { Stream } from '../../src/model/stream.ts';
import { type AnswerHead, MOST_RECORD_BYTES } from '../../src/read/answer-errors.ts';
import { DocumentReading, readRecords, type RecordsPlace } from '../../src/read/read-document.ts';
import { hostileJson, oddNames, spelling, writeHostileJson } from '../support/hostile-rows.ts';
import { isSameJson, readPlainJson } from '../support/plain-json.ts';
import { makeStream } from '../support/fixtures.ts';
import { countRuns } from '../support/seeds.ts';

const { paging } = connectors['analytics-read'];

const answer: AnswerHead = {
  request: { stream: 'items', url: new URL('https://api.example.com/api/v1/items') },
  status: 200,
  headers: { 'content-type': 'application/json' },
};

function toChunks(body: string | Uint8Array, chunkLength: number): Buffer[] {
  const bytes = Buffer.from(body);
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += chunkLength) chunks.push(bytes.subarray(at, at + chunkLength));
  return chunks;
}

function locate(
  body: string | Uint8Array,
  stream: Partial<Stream> = {},
  chunkLength = 1 << 16,
): RecordsPlace {
  const reading = new DocumentReading(makeStream({ paginated: false, ...stream }), paging);
  for (const chunk of toChunks(body, chunkLength)) if (!reading.push(chunk)) break;
  return reading.finish(answer);
}

async function readAll(
  body: string,
  stream: Partial<Stream> = {},
  chunkLength = 1 << 16,
): Promise<{ readonly place: RecordsPlace; readonly records: readonly PageRecord[] }> {
  const place = locate(body, stream, chunkLength);
  const batches: RecordBatch[] = [];
  const read = async function* (start: number, end: number) {
    for (const chunk of toChunks(Buffer.from(body).subarray(start, end), chunkLength))
      yield await Promise.resolve(chunk);
  };
  for await (const batch of readRecords(answer, place, read)) batches.push(batch);
  return { place, records: batches.flatMap(({ records }) => records) };
}

function errorOf(reading: () => unknown): ResponseError {
  try {
    reading();
  } catch (error) {
    if (error instanceof ResponseError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('an unpaginated answer', () => {
  it.each([
    ['an empty body', ''],
    ['white space', ' \n'],
    ['HTML', '<!doctype html><title>Sign in</title>'],
    ['half a document', '{"data":[{"id":1}'],
    ['two documents', '{"data":[]}{"data":[]}'],
    ['lines of JSON', '{"id":1}\n{"id":2}'],
    ['NaN', '{"data":[NaN]}'],
    ['Infinity', '{"data":[Infinity]}'],
    ['a comment', '{"data":[] /* none */}'],
    ['bytes that are not UTF-8', new Uint8Array([0x7b, 0x22, 0xe9, 0x22, 0x3a, 0x31, 0x7d])],
    ['half a character at the end', new Uint8Array([0x22, 0xf0, 0x9f, 0x98, 0x22])],
    ['a gzip body', new Uint8Array([0x1f, 0x8b, 0x08, 0x00])],
  ])('that is %s is a passing fault', (_, body) => {
    for (const chunkLength of [1, 1_000]) {
      const error = errorOf(() => locate(body, {}, chunkLength));
      expect([error.code, error.exitCode, error.context.stream]).toEqual(['page_unreadable', 4, 'items']);
      expect(error.message).toContain('items (/api/v1/items, status 200)');
      expect(error.message).toContain('content-type application/json');
      expect(error.message).not.toMatch(/[\u0000-\u001f\u007f]/);
    }
  });

  it('is a passing fault when it is cut at any byte', () => {
    const body = Buffer.from(
      JSON.stringify({ data: [{ id: 1, name: 'é👍', list: [1.5, null, true] }], n: 1e3 }),
    );
    for (let length = 0; length < body.length; length += 1)
      expect([length, errorOf(() => locate(body.subarray(0, length), {}, 7)).code]).toEqual([
        length,
        'page_unreadable',
      ]);
  });

  it('shows little of a foreign text, without control characters, and nothing where fields are masked', () => {
    const body = `\u001b[31m${'x'.repeat(100_000)}`;
    const { message } = errorOf(() => locate(body));
    expect(message.length).toBeLessThan(800);
    expect(message).toContain('it starts: ');
    expect(message).not.toContain('\u001b');
    const masked = errorOf(() => locate(body, { columns: { email: { kind: 'exclude' } } }));
    expect(masked.message).toMatch(/^items \(.*\): the body is not JSON/);
    expect(masked.message).not.toContain('xxx');
  });

  it('may begin with a byte order mark', async () => {
    const { records } = await readAll('\ufeff[{"id":1}]');
    expect(records.map(({ text }) => text)).toEqual(['{"id":1}']);
  });

  it.each([
    ['the array at the top', '[{"id":1},{"id":2}]', {}, ''],
    ['data', '{"data":[{"id":1},{"id":2}],"other":[1,2,3]}', {}, '/data'],
    ['the only array', '{"mentions":[{"id":1},{"id":2}],"generatedAt":"x"}', {}, '/mentions'],
    ['the only array, called oddly', '{"a/b~c":[{"id":1},{"id":2}]}', {}, '/a~1b~0c'],
    [
      'where config says',
      '{"a":[0],"b":{"c/d":[{"id":1},{"id":2}]}}',
      { recordsPointer: '/b/c~1d' },
      '/b/c~1d',
    ],
    ['below an index', '{"a":[[0],[{"id":1},{"id":2}]]}', { recordsPointer: '/a/1' }, '/a/1'],
    ['the last of two members called data', '{"data":[0],"data":[{"id":1},{"id":2}]}', {}, '/data'],
    [
      'data, once an array no longer is one',
      '{"other":[9],"other":1,"data":[{"id":1},{"id":2}]}',
      {},
      '/data',
    ],
  ])('has its records in %s', async (_, body, stream, pointer) => {
    for (const chunkLength of [1, 5, 1_000]) {
      const { place, records } = await readAll(body, stream, chunkLength);
      expect(place).toMatchObject({ kind: 'array', pointer, count: 2 });
      expect(records.map(({ text }) => text)).toEqual(['{"id":1}', '{"id":2}']);
      expect(records.map(({ value }) => value)).toEqual([{ id: 1 }, { id: 2 }]);
    }
  });

  it.each([
    ['an object without arrays', '{"visibility":0.5}', {}],
    ['an object with two arrays', '{"a":[1],"b":[2]}', {}],
    ['an object whose data is none', '{"data":{},"b":1}', {}],
    ['the object config names', '{"a":{"visibility":0.5}}', { recordsPointer: '/a' }],
  ])('is one record when it is %s', async (_, body, stream) => {
    const { place, records } = await readAll(body, stream, 3);
    expect([place.kind, place.count, records.length]).toEqual(['object', 1, 1]);
    expect(body).toContain(records[0]?.text);
  });

  it.each(['{"data":[]}', '[]', ' [ ] '])('may have no records: %s', async (body) => {
    const { place, records } = await readAll(body);
    expect([place.count, records]).toEqual([0, []]);
  });

  it.each([
    ['a number', '5', {}],
    ['a text', '"data"', {}],
    ['null', 'null', {}],
    ['no value where config says', '{"data":[]}', { recordsPointer: '/items' }],
    ['no value where config says, in an array', '[[]]', { recordsPointer: '/01' }],
    ['null where config says', '{"items":null}', { recordsPointer: '/items' }],
    ['a value that was written over where config says', '{"a":{"b":[1]},"a":{}}', { recordsPointer: '/a/b' }],
    ['a number where config says', '{"items":[1]}', { recordsPointer: '/items/length' }],
    ['an error', '{"error":{"code":"X","message":"y"}}', {}],
    ['an error beside records', '{"data":[{"id":1}],"error":{"message":"partial"}}', {}],
    ['an error with a code that is no text', '{"error":{"code":7}}', {}],
    ['a page', '{"data":[],"pagination":{"total":500,"hasMore":true}}', {}],
  ])('is refused when it is or has %s', (_, body, stream) => {
    for (const chunkLength of [1, 1_000]) {
      const error = errorOf(() => locate(body, stream, chunkLength));
      expect([error.code, error.exitCode, error.recovery]).toEqual(['response_invalid', 4, 'stop-stream']);
      expect(error.hint).not.toBe('');
    }
  });

  it('is not an error when its member called error is not one, and not a page when it has nothing else', () => {
    expect(locate('{"error":null,"data":[1]}').count).toBe(1);
    expect(locate('{"error":{"code":"X"},"error":[],"data":[1]}').count).toBe(1);
    expect(locate('{"data":[1],"pagination":{"hasMore":false}}').count).toBe(1);
    expect(locate('{"data":[1],"pagination":{"hasMore":true},"pagination":{}}').count).toBe(1);
  });

  it('is one when a text or a list called so is all there is: it is not a record', () => {
    for (const text of [
      '{"error":"the store is down"}',
      '{"error":"the store is down","data":[]}',
      '{"errors":[{"message":"the store is down"}]}',
      '{"errors":[{"message":"the store is down"}],"data":[]}',
      '{"errors":[1],"message":"the store is down"}',
    ])
      expect(errorOf(() => locate(text)).message).toContain('holds an error');
    expect(locate('{"error":"0.5 %","data":[1]}').count).toBe(1);
    expect(locate('{"errors":[1],"data":[1]}').count).toBe(1);
    expect(locate('{"errors":[],"data":[]}').count).toBe(0);
    expect(locate('{"errors":[1,2]}', { recordsPointer: '/errors' }).count).toBe(2);
    expect(locate('{"error":"0.5 %","id":1}', { recordsPointer: '' }).count).toBe(1);
  });

  it('reports an error’s code and message, cut and without control characters', () => {
    const message = `\u001b[2J${'x'.repeat(40_000)}`;
    const error = errorOf(() => locate(JSON.stringify({ error: { code: 'TEAPOT', message } })));
    expect(error.message).toContain('status 200 but holds an error: TEAPOT: ');
    expect(error.message.length).toBeLessThan(800);
    expect(error.message).not.toContain('\u001b');
  });

  it('that pages says how to config it, and one without records where to name them', () => {
    const paged = errorOf(() => locate('{"data":[],"pagination":{"hasMore":true}}'));
    expect(paged.hint).toContain('paginated: true');
    const lost = errorOf(() => locate('{"a":1,"b":[]}', { recordsPointer: '/items' }));
    expect(lost.message).toContain('no records at /items; the answer is an object with a, b');
    expect(lost.hint).toContain('streams.items.records');
    expect(errorOf(() => locate('[1,2]', { recordsPointer: '/items' })).message).toContain('an array of 2');
    expect(errorOf(() => locate('5')).message).toContain('no records at the top; the answer is number 5');
  });

  it('of which only the beginning came shows what it has so far', () => {
    const reading = new DocumentReading(makeStream({ paginated: false }), paging);
    reading.push(Buffer.from('{"data":[{"id":1},{"id":2},{"i'));
    expect(reading.judge(answer)).toEqual({
      kind: 'array',
      pointer: '/data',
      start: 8,
      end: undefined,
      count: 3,
    });
    expect(errorOf(() => reading.finish(answer)).code).toBe('page_unreadable');

    const early = new DocumentReading(makeStream({ paginated: false, recordsPointer: '/rows' }), paging);
    early.push(Buffer.from('{"meta":{"a":1},'));
    expect(early.judge(answer)).toMatchObject({ pointer: '/rows', end: undefined, count: 0 });
  });
});

describe('an unpaginated answer that says that it is one of several', () => {
  const rows = '[{"id":1},{"id":2}]';

  it.each([
    [`{"data":${rows},"total":250}`, 'total is 250'],
    [`{"total_count":1250,"items":${rows}}`, 'total_count is 1,250'],
    [`{"count":3,"next":null,"results":${rows}}`, 'count is 3'],
    [`{"data":${rows},"meta":{"total":3}}`, 'meta.total is 3'],
    [`{"content":${rows},"page":{"totalElements":9,"size":2}}`, 'page.totalElements is 9'],
    [`{"data":${rows},"page":1,"totalPages":2}`, 'totalPages is 2'],
    [`{"data":${rows},"has_more":true}`, 'has_more is true'],
    [`{"data":${rows},"nextCursor":"b"}`, 'nextCursor is not empty'],
    [`{"value":${rows},"@odata.nextLink":"https://b"}`, '@odata.nextLink is not empty'],
    [`{"data":${rows},"links":{"next":{"href":"/b"}}}`, 'links.next is not empty'],
  ])('has the rest in doubt: %s', (body, said) => {
    expect(locate(body).rest).toBe(
      `the answer has 2 records, and says that there are more (${said}); if the endpoint is paginated, set streams.${makeStream({}).name}.paginated to true`,
    );
  });

  it('looks beside records that the config names', () => {
    const stream = { recordsPointer: '/result/items' };
    expect(locate(`{"result":{"items":${rows},"total":3}}`, stream).rest).toContain('(result.total is 3)');
    expect(locate(`{"result":{"items":${rows},"total":2}}`, stream).rest).toBeUndefined();
  });

  it.each([
    rows,
    `{"data":${rows},"total":2,"count":2,"next":null,"nextCursor":"","has_more":false,"totalPages":1}`,
    `{"data":${rows},"total":12.5,"meta":{"total":"many"},"pagination":{"total":2}}`,
    '{"total":250,"next":"the object is the record"}',
  ])('is whole where nothing says so: %s', (body) => {
    expect(locate(body).rest).toBeUndefined();
  });

  it('is refused where the total of the connector says so', () => {
    const error = errorOf(() => locate(`{"data":${rows},"pagination":{"total":250}}`));
    expect(error).toMatchObject({
      message: expect.stringContaining('the endpoint is paginated: it sent 2 of 250 records') as string,
      hint: expect.stringContaining('"paginated: true"') as string,
    });
  });
});

describe('the records of an unpaginated answer', () => {
  it('are read exactly, whatever is around them and however the answer is cut', async () => {
    const names = fc.constantFrom('data', 'pagination', ...oddNames);
    const record = fc
      .tuple(hostileJson(names, 3), spelling)
      .map(([value, spelt]) => writeHostileJson(value, spelt));
    await fc.assert(
      fc.asyncProperty(
        fc.array(record, { maxLength: 5 }),
        record,
        fc.integer({ min: 1, max: 50 }),
        async (texts, other, chunkLength) => {
          const body = `{"data":[0],"meta":{"data":${other}},"data" :\n[${texts.join(' ,\n')}],"x":1}`;
          const { place, records } = await readAll(body, {}, chunkLength);
          expect([place.count, records.length]).toEqual([texts.length, texts.length]);
          for (const [at, { text, value }] of records.entries()) {
            const expected = readPlainJson(texts[at] ?? '');
            expect(isSameJson(readPlainJson(text), expected)).toBe(true);
            expect(isSameJson(readPlainJson(JSON.stringify(value)), expected)).toBe(true);
          }
        },
      ),
      { numRuns: countRuns(500) },
    );
  });

  it('keep numbers that a double would change', async () => {
    const { records } = await readAll('[{"id":9007199254740993,"v":1.5}]');
    expect(records).toEqual([
      {
        text: '{"id":9007199254740993,"v":1.5}',
        value: { id: new ExactNumber('9007199254740993'), v: 1.5 },
        exact: true,
        plain: true,
      },
    ]);
  });

  it('are refused when one is nested too deep, by its place in the answer', async () => {
    const deep = `${'['.repeat(501)}${']'.repeat(501)}`;
    const many = Array.from({ length: 1_500 }, () => '1').join(',');
    await expect(readAll(`[${many},${deep}]`)).rejects.toMatchObject({
      code: 'response_invalid',
      message: expect.stringContaining('record 1500 of items is nested 501 levels deep') as string,
    });
    expect((await readAll(`[${deep.slice(1, -1)}]`)).records).toHaveLength(1);
    // Depth that is not a record's is of no concern.
    const idle = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    expect((await readAll(`{"extra":${idle},"data":[1]}`)).records).toHaveLength(1);
  });

  it('are refused when one is larger than memory should hold', async () => {
    const large = `"${'x'.repeat(MOST_RECORD_BYTES)}"`;
    await expect(readAll(`[1,${large}]`)).rejects.toMatchObject({
      code: 'response_invalid',
      message: expect.stringContaining('record 1 of items is larger than 16 MB') as string,
    });
    const whole = readAll(`{"a":[${large}],"b":[]}`);
    await expect(whole).rejects.toMatchObject({
      code: 'response_invalid',
      message: expect.stringContaining('the answer is one object of more than 16 MB') as string,
      hint: expect.stringContaining('streams.items.records') as string,
    });
  });
});
