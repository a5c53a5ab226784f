import { randomBytes } from 'node:crypto';
import fs, { readdirSync, readFileSync, statSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import type { ArchivedContent } from '../../src/archive/archived-scan.ts';
import { packChunks, type PackedPage, packRecords } from '../../src/archive/pack-records.ts';
import { assertContentWhole, unpackRecords } from '../../src/archive/unpack-records.ts';
import { makeTempFolder } from '../support/temp-folder.ts';
import { countRuns } from '../support/seeds.ts';

/** A stage whose pages lie in the file in the order given; page n holds the records from 10 n on. */
function stagePages(order: readonly number[], recordOf = (position: number) => `{"id":${position}}`) {
  const folder = makeTempFolder();
  const recordsFile = join(folder, 'records.ndjson');
  const pages: PackedPage[] = [];
  let text = '';
  for (const page of order) {
    const startByte = Buffer.byteLength(text);
    for (let row = 0; row < 10; row += 1) text += `${page * 10 + row}p${recordOf(page * 10 + row)}\n`;
    const endByte = Buffer.byteLength(text);
    pages.push({
      offset: page * 10,
      firstPosition: page * 10,
      rows: 10,
      total: 50,
      besides: undefined,
      startByte,
      endByte,
    });
  }
  writeFileSync(recordsFile, text);
  return { folder, recordsFile, pages };
}

async function readLines(folder: string, content: ArchivedContent): Promise<readonly string[]> {
  const lines: string[] = [];
  for await (const batch of unpackRecords(folder, content)) lines.push(...batch);
  return lines;
}

describe('packed records', () => {
  it('come back line by line, page after page, with what each page was', async () => {
    const { folder, recordsFile, pages } = stagePages([1, 0]);
    const content = await packRecords(folder, recordsFile, pages);
    const lines = await readLines(folder, content);
    expect(lines[0]).toBe('0p{"id":0}');
    expect(lines[10]).toBe('#{"offset":0,"firstPosition":0,"rows":10,"total":50}');
    expect(lines.filter((line) => !line.startsWith('#'))).toHaveLength(20);
    expect(content.bytes).toBe(Buffer.byteLength(lines.map((line) => `${line}\n`).join('')));
    expect(statSync(join(folder, content.file))).toMatchObject({ size: content.packedBytes });
    expect(statSync(join(folder, content.file)).mode & 0o777).toBe(0o600);
  });

  it('are one file for one dataset, in whatever order its pages came', async () => {
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray([0, 1, 2, 3, 4], { minLength: 5 }), async (order) => {
        const { folder, recordsFile, pages } = stagePages(order);
        const sorted = stagePages([0, 1, 2, 3, 4]);
        const one = await packRecords(folder, recordsFile, pages);
        const other = await packRecords(sorted.folder, sorted.recordsFile, sorted.pages);
        // How well a text packs depends on the pieces it came in.
        expect({ ...one, packedBytes: 0 }).toEqual({ ...other, packedBytes: 0 });
      }),
      { numRuns: countRuns(12) },
    );
  });

  it('keep any text: two records of a megabyte, line separators of JavaScript, emoji', async () => {
    const odd = ['\u2028', '\u0085', '💧', 'x'.repeat(2 ** 20)];
    const { folder, recordsFile, pages } = stagePages([0], (at) =>
      JSON.stringify({ id: at, text: odd[at % 4] }),
    );
    const lines = await readLines(folder, await packRecords(folder, recordsFile, pages));
    expect(lines.slice(0, 10)).toEqual(readFileSync(recordsFile, 'utf8').split('\n').slice(0, 10));
  });

  it('may be none at all', async () => {
    const { folder, recordsFile } = stagePages([]);
    const content = await packRecords(folder, recordsFile, []);
    expect(await readLines(folder, content)).toEqual([]);
    await assertContentWhole(folder, content);
  });

  it('leave nothing behind when they cannot be read', async () => {
    const { folder, pages } = stagePages([0]);
    await expect(packRecords(folder, join(folder, 'missing'), pages)).rejects.toThrow('ENOENT');
    expect(readdirSync(folder)).toEqual(['records.ndjson']);
  });

  it.each(['is full', 'is left'])('do not wait for a slow disk that %s', async (end) => {
    const folder = makeTempFolder();
    const leaving = new AbortController();
    const write = vi.spyOn(fs, 'write').mockImplementationOnce((...args: unknown[]) => {
      const fail = args.at(-1) as (error: Error) => void;
      // Until then, whatever is compressed fills the memory on its way to the file.
      setTimeout(() => {
        if (end === 'is left') leaving.abort();
        fail(new Error('no space left'));
      }, 100);
    });
    async function* chunks() {
      for (let at = 0; at < 50; at += 1) yield await Promise.resolve(randomBytes(2 ** 18));
    }
    try {
      const packed = packChunks(folder, chunks(), leaving.signal);
      await expect(packed).rejects.toThrow(end === 'is left' ? 'aborted' : 'no space left');
    } finally {
      write.mockRestore();
    }
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('a file of the archive that was changed', () => {
  const damages: Readonly<Record<string, (file: string) => void>> = {
    'is gone': (file) => {
      unlinkSync(file);
    },
    'is cut': (file) => {
      truncateSync(file, statSync(file).size - 9);
    },
    'is empty': (file) => {
      truncateSync(file, 0);
    },
    'has another byte': (file) => {
      const bytes = readFileSync(file);
      bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
      writeFileSync(file, bytes);
    },
    'is not an archive': (file) => {
      writeFileSync(file, 'hello');
    },
  };

  it.each(Object.entries(damages))('%s: its reader gets an error with its name', async (_, damage) => {
    const { folder, recordsFile, pages } = stagePages([0, 1, 2]);
    const content = await packRecords(folder, recordsFile, pages);
    damage(join(folder, content.file));
    const error = { code: 'archive_damaged', context: { path: join(folder, content.file) } };
    await expect(readLines(folder, content)).rejects.toMatchObject(error);
    await expect(assertContentWhole(folder, content)).rejects.toMatchObject(error);
  });

  it('at any byte is noticed', async () => {
    const { folder, recordsFile, pages } = stagePages([0, 1, 2]);
    const content = await packRecords(folder, recordsFile, pages);
    const file = join(folder, content.file);
    const whole = readFileSync(file);
    for (let at = 0; at < whole.length; at += 1) {
      truncateSync(file, at);
      await expect(assertContentWhole(folder, content), `cut at ${at}`).rejects.toMatchObject({
        code: 'archive_damaged',
      });
      writeFileSync(file, whole);
    }
  });
});
