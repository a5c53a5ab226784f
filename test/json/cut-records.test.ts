import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CutOptions, cutRecords } from '../../src/json/cut-records.ts';
import { readRecordRun } from '../../src/json/page-records.ts';
import { sliceArray } from '../../src/json/slice-records.ts';
import { hostileJson, oddNames, spelling, writeHostileJson } from '../support/hostile-rows.ts';
import { isSameJson, readPlainJson } from '../support/plain-json.ts';
import { countRuns } from '../support/seeds.ts';

const names = fc.constantFrom('data', 'a', ...oddNames);
const element = fc
  .tuple(hostileJson(names, 3), spelling)
  .map(([value, spelt]) => writeHostileJson(value, spelt));
const gap = fc.constantFrom('', ' ', '\n', '\t \r\n');

async function* chunksOf(bytes: Buffer, length: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += length)
    yield await Promise.resolve(bytes.subarray(at, at + length));
}

interface CutRun {
  readonly text: string;
  readonly count: number;
}

async function cut(text: string, chunkLength: number, options: Partial<CutOptions> = {}): Promise<CutRun[]> {
  const runs: CutRun[] = [];
  const all: CutOptions = {
    mostRecords: 1_000,
    mostBytes: 1e9,
    tooLong: (index) => new Error(`element ${index} is too long`),
    ...options,
  };
  for await (const { bytes, count } of cutRecords(chunksOf(Buffer.from(text), chunkLength), all))
    runs.push({ text: bytes.toString(), count });
  return runs;
}

describe('cutRecords', () => {
  it('cuts an array into runs of its elements, whatever the chunks', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(element, { maxLength: 6 }),
        gap,
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 4 }),
        async (elements, space, chunkLength, mostRecords) => {
          const text = `[${space}${elements.join(`${space},${space}`)}${space}]`;
          const runs = await cut(text, chunkLength, { mostRecords });
          expect(runs.every(({ count }) => count >= 1 && count <= mostRecords)).toBe(true);
          const slices = runs.flatMap((run) => sliceArray(`[${run.text}]`, 0));
          expect(runs.reduce((sum, { count }) => sum + count, 0)).toBe(slices.length);
          // The same as from the whole text at once.
          expect(slices).toEqual(sliceArray(text, 0));
          expect(slices.length).toBe(elements.length);
        },
      ),
      { numRuns: countRuns(1_500) },
    );
  });

  it('yields what is whole of an array that is cut', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(element, { minLength: 1, maxLength: 5 }),
        fc.nat(),
        fc.integer({ min: 1, max: 20 }),
        async (elements, at, chunkLength) => {
          const bytes = Buffer.from(`[${elements.join(',')}]`);
          const part = bytes.subarray(0, at % bytes.length).toString('latin1');
          const runs = await cutLatin1(part, chunkLength);
          const whole = runs.reduce((sum, { count }) => sum + count, 0);
          expect(runs.map(({ text }) => text).join(',')).toBe(
            Buffer.from(elements.slice(0, whole).join(',')).toString('latin1'),
          );
          expect(whole).toBeLessThan(elements.length);
        },
      ),
      { numRuns: countRuns(500) },
    );
  });

  it.each(['[]', '[ ]', '[\n\t\r ]'])('yields nothing of %j', async (text) => {
    for (const chunkLength of [1, 2, 100]) expect(await cut(text, chunkLength)).toEqual([]);
  });

  it('ends with the array, whatever comes after it', async () => {
    for (const chunkLength of [1, 3, 100])
      expect((await cut('[1,[2]],[3]]', chunkLength)).map(({ text }) => text).join(',')).toBe('1,[2]');
  });

  it.each([1, 7, 1_000])(
    'refuses an element longer than the most, in chunks of %i bytes',
    async (chunkLength) => {
      const most = { mostBytes: 10 };
      expect(await cut('["12345678","12345678"]', chunkLength, most)).not.toEqual([]);
      await expect(cut('[1,2,"123456789",3]', chunkLength, most)).rejects.toThrow('element 2 is too long');
      await expect(cut('["123456789"]', chunkLength, most)).rejects.toThrow('element 0 is too long');
    },
  );

  it('gives up an element without end before it has come', async () => {
    let pulled = 0;
    async function* endless(): AsyncGenerator<Buffer> {
      yield Buffer.from('["');
      for (;;) {
        pulled += 1_000;
        yield await Promise.resolve(Buffer.alloc(1_000, 'x'));
      }
    }
    const options = { mostRecords: 10, mostBytes: 50_000, tooLong: () => new Error('too long') };
    const runs = cutRecords(endless(), options);
    await expect(runs.next()).rejects.toThrow('too long');
    expect(pulled).toBeLessThan(60_000);
  });

  it('holds one chunk and one element at most', async () => {
    const element = Buffer.from(`{"id":1,"text":"${'x'.repeat(300)}"},`);
    // Chunks of an odd length, so that elements go over their ends.
    const chunkBytes = 65_537;
    const endless = Buffer.concat(Array.from({ length: 250 }, () => element));
    const chunkCount = 1_000;
    let pulled = 0;
    async function* generated(): AsyncGenerator<Buffer> {
      yield Buffer.from('[');
      for (let n = 0; n < chunkCount; n += 1) {
        const from = (n * chunkBytes) % element.length;
        pulled += chunkBytes;
        yield await Promise.resolve(endless.subarray(from, from + chunkBytes));
      }
    }
    let taken = 0;
    let count = 0;
    const options = { mostRecords: 150, mostBytes: 1e6, tooLong: () => new Error('too long') };
    for await (const run of cutRecords(generated(), options)) {
      taken += run.bytes.length + 1;
      count += run.count;
      expect(pulled - taken).toBeLessThanOrEqual(chunkBytes + element.length);
    }
    expect(count).toBe(Math.floor((chunkCount * chunkBytes) / element.length));
  });

  async function cutLatin1(text: string, chunkLength: number): Promise<CutRun[]> {
    const runs: CutRun[] = [];
    const options = { mostRecords: 2, mostBytes: 1e9, tooLong: () => new Error('too long') };
    for await (const { bytes, count } of cutRecords(
      chunksOf(Buffer.from(text, 'latin1'), chunkLength),
      options,
    ))
      runs.push({ text: bytes.toString('latin1'), count });
    return runs;
  }
});

describe('readRecordRun', () => {
  const refuse = (index: number, depth: number) => new Error(`record ${index} has ${depth} levels`);

  it('reads records as they were written', () => {
    fc.assert(
      fc.property(fc.array(element, { minLength: 1, maxLength: 4 }), (elements) => {
        const { records } = readRecordRun(elements.join(',\n'), refuse);
        expect(records.length).toBe(elements.length);
        for (const [at, { text, value }] of records.entries()) {
          const expected = readPlainJson(elements[at] ?? '');
          expect(text).not.toMatch(/[\r\n]/);
          expect(isSameJson(readPlainJson(text), expected)).toBe(true);
          expect(isSameJson(readPlainJson(JSON.stringify(value)), expected)).toBe(true);
        }
      }),
      { numRuns: countRuns(500) },
    );
  });

  it('counts records that name a member twice', () => {
    expect(
      readRecordRun('{"a":1,"a":2},{"a":1},{"l":[{"b":1,"b":9007199254740993}]}', refuse).duplicateMembers,
    ).toBe(2);
  });

  it('refuses a record nested too deep, by its index', () => {
    const levels = (count: number) => `${'['.repeat(count)}${']'.repeat(count)}`;
    expect(readRecordRun(`1,${levels(500)}`, refuse).records).toHaveLength(2);
    expect(() => readRecordRun(`1,${levels(501)}`, refuse)).toThrow('record 1 has 501 levels');
  });
});
