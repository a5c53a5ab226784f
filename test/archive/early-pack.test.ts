import { readdirSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EarlyPack } from '../../src/archive/early-pack.ts';
import { type PackedPage, packRecords } from '../../src/archive/pack-records.ts';
import { makeTempFolder } from '../support/temp-folder.ts';
import { countRuns } from '../support/seeds.ts';

interface Stage {
  readonly folder: string;
  readonly recordsFile: string;
  /** In the order of the file. */
  readonly pages: readonly PackedPage[];
}

/** A stage whose pages came in this order; page n has n % 3 + 1 records. */
function stagePages(order: readonly number[]): Stage {
  const folder = makeTempFolder();
  const recordsFile = join(folder, 'records.ndjson');
  let text = '';
  const pages = order.map((page): PackedPage => {
    const startByte = Buffer.byteLength(text);
    const rows = rowsOf(page);
    const firstPosition = Array.from({ length: page }, (_, at) => rowsOf(at)).reduce((sum, n) => sum + n, 0);
    for (let row = 0; row < rows; row += 1) text += `{"i":${firstPosition + row},"r":{"page":${page}}}\n`;
    const endByte = Buffer.byteLength(text);
    return { offset: firstPosition, firstPosition, rows, total: 50, besides: undefined, startByte, endByte };
  });
  writeFileSync(recordsFile, text);
  return { folder, recordsFile, pages };
}

function rowsOf(page: number): number {
  return (page % 3) + 1;
}

async function packEarly({ recordsFile, pages }: Stage, cuts: readonly number[]) {
  const folder = makeTempFolder();
  const early = new EarlyPack(folder, recordsFile, async () => {
    await mkdir(folder, { recursive: true });
  });
  let at = 0;
  for (const cut of cuts) {
    early.take(pages.slice(at, at + cut));
    at += cut;
    await new Promise((resolve) => setImmediate(resolve));
  }
  early.take(pages.slice(at));
  return { folder, content: await early.finish() };
}

describe('a scan that is packed while its pages come', () => {
  it('is the file that packing it at once gives, in whatever order and portions they came', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray([0, 1, 2, 3, 4, 5, 6], { minLength: 7 }),
        fc.array(fc.nat({ max: 3 }), { maxLength: 6 }),
        async (order, cuts) => {
          const stage = stagePages(order);
          const early = await packEarly(stage, cuts);
          const whole = await packRecords(stage.folder, stage.recordsFile, stage.pages);
          // How well a text packs depends on the pieces it came in.
          expect({ ...early.content, packedBytes: 0 }).toEqual({ ...whole, packedBytes: 0 });
          expect(readdirSync(early.folder)).toEqual([whole.file]);
        },
      ),
      { numRuns: countRuns(25) },
    );
  });

  it('does not count where a page comes late for its place, and leaves nothing behind', async () => {
    const stage = stagePages([0, 1, 2, 3]);
    const [first, second, ...others] = stage.pages as [PackedPage, PackedPage, ...PackedPage[]];
    const late = { ...second, firstPosition: first.firstPosition, rows: 0 };
    const early = await packEarly({ ...stage, pages: [first, second, ...others, late] }, [4, 1]);
    expect(early.content).toBeUndefined();
    expect(readdirSync(early.folder)).toEqual([]);
  });

  it('packs empty pages, and those kept besides, in their places when the scan has ended', async () => {
    const stage = stagePages([0, 1, 2]);
    const [first, second, third] = stage.pages as [PackedPage, PackedPage, PackedPage];
    const end = third.endByte;
    const pages = [
      first,
      second,
      { ...third, besides: true, firstPosition: 2 ** 40 },
      { ...third, rows: 0, firstPosition: 3, startByte: end, endByte: end },
    ];
    const early = await packEarly({ ...stage, pages }, [3, 1]);
    const whole = await packRecords(stage.folder, stage.recordsFile, pages);
    expect({ ...early.content, packedBytes: 0 }).toEqual({ ...whole, packedBytes: 0 });
  });

  it('leaves nothing behind when it is abandoned, or cannot be done', async () => {
    const stage = stagePages([0, 1]);
    const early = new EarlyPack(stage.folder, stage.recordsFile, () => Promise.resolve());
    early.take(stage.pages);
    await early.abandon();
    expect(readdirSync(stage.folder)).toEqual(['records.ndjson']);
    const failing = await packEarly({ ...stage, recordsFile: join(stage.folder, 'missing') }, [2]);
    expect(failing.content).toBeUndefined();
    expect(readdirSync(failing.folder)).toEqual([]);
  });
});
