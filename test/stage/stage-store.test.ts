import { cpSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ExactNumber } from '../../src/json/exact-number.ts';
import { StorageError } from '../../src/model/errors.ts';
import {
  discardStage,
  readStage,
  type StagedLines,
  type StagedPageEntry,
  type StagedScan,
  StageStore,
} from '../../src/stage/stage-store.ts';
import { formatStagedLines, parsePageRecord, readStagedRecords } from '../../src/stage/staged-records.ts';
import { expectNoSquare } from '../support/growth.ts';
import { makeTempFolder } from '../support/temp-folder.ts';
import { toRecords } from '../warehouse/load-texts.ts';
import { countRuns } from '../support/seeds.ts';

const scan: StagedScan = {
  version: 1,
  stream: 'items',
  question: 'q',
  startedAtMs: 1,
  runId: 'run-1',
  key: 'k',
};

/** Page `n` of a scan: three records of two and more bytes a character. */
function makePage(n: number): StagedLines {
  const records = toRecords([`{"id":${n},"t":"é"}`, `{"id":9007199254740993}`, `"😀"`]);
  return {
    entry: {
      offset: n === 0 ? 0 : n * 3 - 1,
      firstPosition: n * 3,
      rows: 3,
      firstHash: `f${n}`,
      lastHash: `l${n}`,
      total: 9,
      ...(n === 0 ? { pageHash: 'head' } : {}),
    },
    lines: formatStagedLines(n * 3, records),
  };
}

async function stagePages(folder: string, count: number): Promise<void> {
  const store = await StageStore.begin(folder, scan);
  for (let n = 0; n < count; n += 1) await store.append(makePage(n));
  await store.close();
}

async function readPositions(file: string): Promise<readonly number[]> {
  const positions: number[] = [];
  for await (const records of readStagedRecords(file))
    positions.push(...records.map(({ position }) => position));
  return positions;
}

function positionsOf(pages: readonly StagedPageEntry[]): readonly number[] {
  return pages.flatMap(({ firstPosition, rows }) =>
    Array.from({ length: rows }, (_, at) => firstPosition + at),
  );
}

describe('a stage', () => {
  it('gives back its scan, its pages and its records', async () => {
    const folder = join(makeTempFolder(), 'stage');
    await stagePages(folder, 3);
    const staged = await readStage(folder);
    expect(staged?.scan).toEqual(scan);
    expect(staged?.pages.map(({ endByte: _, sum: __, ...entry }) => entry)).toEqual(
      [0, 1, 2].map((n) => makePage(n).entry),
    );
    expect(staged?.pages.at(-1)?.endByte).toBe(statSync(join(folder, 'records.ndjson')).size);

    const values: unknown[] = [];
    for await (const records of readStagedRecords(join(folder, 'records.ndjson'))) values.push(...records);
    expect(values.slice(0, 3)).toEqual([
      { position: 0, text: '{"id":0,"t":"é"}', value: { id: 0, t: 'é' } },
      {
        position: 1,
        text: '{"id":9007199254740993}',
        value: { id: toRecords(['9007199254740993'])[0]?.value },
      },
      { position: 2, text: '"😀"', value: '😀' },
    ]);
  });

  it('belongs to its owner only', async () => {
    const folder = join(makeTempFolder(), 'stage');
    await stagePages(folder, 1);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    for (const name of ['scan.json', 'records.ndjson', 'pages.ndjson'])
      expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    await (await StageStore.reopen(folder, scan, (await readStage(folder))?.pages ?? [])).close();
    expect(statSync(join(folder, 'pages.ndjson')).mode & 0o777).toBe(0o600);
  });

  it('writes pages handed in together in their order, and resolves each once it is on the disk', async () => {
    const folder = join(makeTempFolder(), 'stage');
    const store = await StageStore.begin(folder, scan);
    const written: number[] = [];
    const appends = Array.from({ length: 40 }, (_, n) =>
      store.append(makePage(n)).then(() => {
        // Named in the index means: the records are there.
        const named = readFileSync(join(folder, 'pages.ndjson'), 'utf8').split('\n').length - 1;
        expect(named).toBeGreaterThan(n);
        written.push(n);
      }),
    );
    await store.flush();
    await Promise.all(appends);
    await store.close();
    expect(written).toEqual(written.toSorted((a, b) => a - b));
    expect(written).toHaveLength(40);
    expect((await readStage(folder))?.pages.map(({ firstPosition }) => firstPosition)).toEqual(
      Array.from({ length: 40 }, (_, n) => n * 3),
    );
    expect(await readPositions(store.recordsFile)).toEqual(Array.from({ length: 120 }, (_, at) => at));
  });

  it.each(['records.ndjson', 'pages.ndjson'])(
    'cut at any byte of %s keeps the whole pages before, and continues from there',
    async (name) => {
      const root = makeTempFolder();
      const whole = join(root, 'whole');
      await stagePages(whole, 2);
      const { pages = [] } = (await readStage(whole)) ?? {};
      const size = statSync(join(whole, name)).size;
      const ends =
        name === 'records.ndjson'
          ? pages.map(({ endByte }) => endByte)
          : pages.map((_, at) =>
              pages.slice(0, at + 1).reduce((sum, page) => sum + JSON.stringify(page).length + 1, 0),
            );
      expect(ends.at(-1)).toBe(size);

      const folder = join(root, 'cut');
      for (let at = 0; at <= size; at += 1) {
        cpSync(whole, folder, { recursive: true });
        truncateSync(join(folder, name), at);
        // An entry without its line break is whole as well.
        const expected = ends.filter((end) => end <= at + (name === 'pages.ndjson' ? 1 : 0)).length;
        const staged = await readStage(folder);
        expect(staged?.pages ?? []).toEqual(pages.slice(0, expected));
        if (staged !== undefined) {
          const store = await StageStore.reopen(folder, scan, staged.pages);
          await store.append(makePage(7));
          await store.close();
          const again = await readStage(folder);
          expect(again?.pages.map(({ firstPosition }) => firstPosition)).toEqual([
            ...staged.pages.map(({ firstPosition }) => firstPosition),
            21,
          ]);
          expect(await readPositions(store.recordsFile)).toEqual(positionsOf(again?.pages ?? []));
        }
        rmSync(folder, { recursive: true });
      }
    },
  );

  it.each(['records.ndjson', 'pages.ndjson'])(
    'with a bit of %s flipped ends before the page it is in, once its pages have to be proved',
    async (name) => {
      const root = makeTempFolder();
      const whole = join(root, 'whole');
      await stagePages(whole, 3);
      const proved = { isProved: true };
      const { pages = [] } = (await readStage(whole, proved)) ?? {};
      expect(pages).toHaveLength(3);
      const content = readFileSync(join(whole, name));
      for (let at = 0; at < content.length; at += 1) {
        const flipped = Buffer.from(content);
        flipped[at] = (content[at] ?? 0) ^ (1 << (at % 8));
        writeFileSync(join(whole, name), flipped);
        const kept = (await readStage(whole, proved))?.pages ?? [];
        const damaged =
          name === 'records.ndjson'
            ? pages.findIndex(({ endByte }) => endByte > at)
            : content.subarray(0, at).toString().split('\n').length - 1;
        expect(kept, `bit ${at % 8} of byte ${at}`).toEqual(pages.slice(0, damaged));
      }
    },
  );

  it.each(['', '{', 'null', '[]', '{"version":2}', '{"version":1,"stream":"items"}', 'x'.repeat(100)])(
    'is of no use when its scan.json reads %j',
    async (text) => {
      const folder = join(makeTempFolder(), 'stage');
      await stagePages(folder, 1);
      writeFileSync(join(folder, 'scan.json'), text);
      expect(await readStage(folder)).toBeUndefined();
    },
  );

  it('is of no use when its scan.json has another value than was written', async () => {
    const folder = join(makeTempFolder(), 'stage');
    await stagePages(folder, 1);
    const file = join(folder, 'scan.json');
    const text = readFileSync(file, 'utf8');
    for (const [from, to] of [
      ['"startedAtMs":1', '"startedAtMs":3'],
      ['run-1', 'run-3'],
      ['"key"', '"ke{"'],
    ] as const) {
      expect(text).toContain(from);
      writeFileSync(file, text.replace(from, to));
      expect(await readStage(folder), from).toBeUndefined();
    }
    writeFileSync(file, JSON.stringify(scan));
    expect((await readStage(folder))?.scan, 'of an earlier release').toEqual(scan);
  });

  it.each(['scan.json', 'records.ndjson', 'pages.ndjson'])('is of no use without its %s', async (name) => {
    const folder = join(makeTempFolder(), 'stage');
    await stagePages(folder, 1);
    rmSync(join(folder, name));
    expect(await readStage(folder)).toBeUndefined();
  });

  it('trusts no entry after one that is damaged', async () => {
    const folder = join(makeTempFolder(), 'stage');
    await stagePages(folder, 3);
    const file = join(folder, 'pages.ndjson');
    const lines = readFileSync(file, 'utf8').split('\n');
    writeFileSync(file, [lines[0], '{"offset":"x"}', lines[2], ''].join('\n'));
    expect((await readStage(folder))?.pages).toHaveLength(1);
  });

  it('is empty again when it is restarted, and gone when it is discarded', async () => {
    const folder = join(makeTempFolder(), 'stage');
    await stagePages(folder, 3);
    await (await StageStore.begin(folder, { ...scan, question: 'other' })).close();
    expect(await readStage(folder)).toBeUndefined();
    expect(statSync(join(folder, 'records.ndjson')).size).toBe(0);
    await discardStage(folder);
    expect(() => statSync(folder)).toThrow('ENOENT');
    await discardStage(folder);
  });

  it('says what to do when its folder cannot be made', async () => {
    const blocked = join(makeTempFolder(), 'file');
    writeFileSync(blocked, '');
    const begun = StageStore.begin(join(blocked, 'stage'), scan);
    await expect(begun).rejects.toBeInstanceOf(StorageError);
    await expect(begun).rejects.toMatchObject({ code: 'storage_failed', exitCode: 6 });
  });

  it('takes no more pages once one could not be written: requests for them would be wasted', async () => {
    const store = await StageStore.begin(makeTempFolder(), scan);
    await store.append(makePage(0));
    await store.settle();
    // Writing fails from here on.
    await store.close();
    const failed = { code: 'storage_failed', exitCode: 6 };
    await expect(store.append(makePage(1))).rejects.toMatchObject(failed);
    await expect(store.settle()).rejects.toMatchObject(failed);
    await expect(store.append(makePage(2))).rejects.toMatchObject(failed);
  });
});

describe('readStagedRecords', () => {
  it('reads any records back, wherever the chunks of the file end', async () => {
    const folder = makeTempFolder();
    const file = join(folder, 'records.ndjson');
    const text = fc.json({ maxDepth: 2, stringUnit: 'binary' });
    await fc.assert(
      fc.asyncProperty(
        fc.array(text, { maxLength: 30 }),
        fc.nat({ max: 1_000_000 }),
        async (texts, first) => {
          // About a chunk of filler moves the records over the border between two.
          const filler = JSON.stringify('é'.repeat(((1 << 20) - first) / 2));
          const records = toRecords([filler, ...texts]);
          writeFileSync(file, formatStagedLines(first, records));
          const read = [];
          for await (const part of readStagedRecords(file)) read.push(...part);
          expect(read.map(({ position }) => position)).toEqual(records.map((_, at) => first + at));
          expect(read.map(({ text }) => text)).toEqual(records.map(({ text }) => text));
          expect(read.map(({ value }) => value)).toEqual(records.map(({ value }) => value));
        },
      ),
      { numRuns: countRuns(30) },
    );
  });

  it('reads the lines of earlier stages and archives, also next to those of today', async () => {
    const file = join(makeTempFolder(), 'records.ndjson');
    const old = '6p{"a":[1,"p"]}\n7x{"n":9007199254740993}\n{"i":8,"x":{"n":9007199254740993}}\n';
    const texts = ['{"a":1}', '{"n":9007199254740993}', '1', '{"n":9223372036854775808}'];
    writeFileSync(file, old + formatStagedLines(9, toRecords(texts)));
    const read = [];
    for await (const part of readStagedRecords(file)) read.push(...part);
    const exact = { n: new ExactNumber('9007199254740993') };
    expect(read.map(({ position, value }) => [position, value])).toEqual([
      [6, { a: [1, 'p'] }],
      [7, exact],
      [8, exact],
      [9, { a: 1 }],
      [10, exact],
      [11, 1],
      [12, { n: new ExactNumber('9223372036854775808') }],
    ]);
    const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
    const parsed = lines.map((line) => parsePageRecord(line).record);
    expect(parsed.map(({ exact, plain }) => [exact, plain])).toEqual([
      [false, false],
      [true, false],
      [true, false],
      [false, true],
      [true, true],
      [false, false],
      [true, false],
    ]);
    expect(parsed.map(({ text }) => text)).toEqual(read.map(({ text }) => text));
  });

  it('reads a large record in a time that does not grow with its square', async () => {
    const file = join(makeTempFolder(), 'records.ndjson');
    await expectNoSquare(2 ** 20, async (length) => {
      writeFileSync(file, `0p"${'x'.repeat(length)}"\n1p1\n`);
      expect(await readPositions(file)).toEqual([0, 1]);
    });
  });
});
