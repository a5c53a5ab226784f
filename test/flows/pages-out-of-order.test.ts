import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { ArchivedScan } from '../../src/archive/archived-scan.ts';
import { verifyState } from '../../src/commands/verify/verify.ts';
import { archiveOf, listArchive } from '../support/archive-files.ts';
import { createRandom, seed } from '../support/seeds.ts';
import {
  createItemsFlow,
  DAY_MS,
  type Flow,
  type FlowConfig,
  makeItems,
  noBuiltIns,
} from '../support/sync-harness.ts';

/** A flow whose answers take 5 to 125 ms, each its own time, so that pages come in any order. */
function createRestlessFlow(count: number, from: number = seed): Flow {
  const random = createRandom(from);
  return createItemsFlow(makeItems(count), {
    latency: () => ({ thereMs: 0, backMs: 5 + Math.floor(random() * 120) }),
  });
}

async function syncDaily(flow: Flow, days: number): Promise<void> {
  for (let day = 0; day < days; day += 1) {
    expect((await flow.sync({ fullRefresh: true })).exitCode).toBe(0);
    await flow.clock.sleep(DAY_MS);
    flow.simulator.advanceDay();
  }
}

const listFiles = (flow: Flow, end: string) =>
  listArchive(flow, end).map((name) => join(archiveOf(flow), name));
const readHeaders = (flow: Flow) =>
  listFiles(flow, '.json').map((file) => JSON.parse(readFileSync(file, 'utf8')) as ArchivedScan);

async function verifyArchive(flow: Flow, config?: FlowConfig) {
  const { items } = await verifyState(flow.settings(config), { clock: flow.clock });
  return items.filter(({ name }) => name.startsWith('archive'));
}

describe('pages that come in any order', () => {
  it.each([1, 2])('give an archive that can be rebuilt, sync after sync (%i)', async (number) => {
    const flow = createRestlessFlow(1_200, seed + number);
    await syncDaily(flow, 4);
    const before = await flow.rows('items');
    expect(await verifyArchive(flow)).toMatchObject([{ status: 'ok' }]);
    expect(await flow.rebuild()).toMatchObject({ exitCode: 0, streams: [{ status: 'rebuilt', scans: 4 }] });
    expect(await flow.rows('items')).toEqual(before);
  });

  it('leave the file that equal scans share as it is, and each header names its size', async () => {
    const flow = createRestlessFlow(1_200);
    await syncDaily(flow, 1);
    const [file = ''] = listFiles(flow, '.zst');
    const first = readFileSync(file);
    await syncDaily(flow, 3);
    expect(listFiles(flow, '.zst')).toEqual([file]);
    expect(readFileSync(file).equals(first)).toBe(true);
    expect(readHeaders(flow).map(({ content }) => content.packedBytes)).toEqual(
      Array<number>(4).fill(first.length),
    );
  });
});

describe('an archive whose headers tell other sizes than its files have', () => {
  /** What a release left that put each scan's file in the place of the one before. */
  async function createEarlierArchive() {
    const flow = createRestlessFlow(500);
    await syncDaily(flow, 2);
    const [file = ''] = listFiles(flow, '.zst');
    const text = zstdDecompressSync(readFileSync(file));
    const params = { [constants.ZSTD_c_checksumFlag]: 1, [constants.ZSTD_c_compressionLevel]: 9 };
    writeFileSync(file, zstdCompressSync(text, { params }));
    return { flow, file };
  }

  it('is whole to `verify`, and can be rebuilt', async () => {
    const { flow, file } = await createEarlierArchive();
    const sizes = readHeaders(flow).map(({ content }) => content.packedBytes);
    expect(sizes).not.toContain(readFileSync(file).length);
    const before = await flow.rows('items');
    expect(await verifyArchive(flow)).toMatchObject([{ status: 'ok' }]);
    expect(await flow.rebuild()).toMatchObject({ exitCode: 0, streams: [{ scans: 2 }] });
    expect(await flow.rows('items')).toEqual(before);
  });

  it.each<[string, (file: string) => void]>([
    [
      'lacks a byte of its end',
      (file) => {
        truncateSync(file, readFileSync(file).length - 1);
      },
    ],
    [
      'goes on after its end',
      (file) => {
        writeFileSync(file, Buffer.concat([readFileSync(file), Buffer.from('more')]));
      },
    ],
  ])(
    'is refused by both when its file %s, and a sync of the same records makes it whole',
    async (_, damage) => {
      const { flow, file } = await createEarlierArchive();
      damage(file);
      expect((await verifyArchive(flow)).map(({ status }) => status)).toContain('failed');
      expect(await flow.rebuild()).toMatchObject({
        exitCode: 6,
        streams: [{ error: { code: 'archive_incomplete' } }],
      });
      await syncDaily(flow, 1);
      expect(await verifyArchive(flow)).toMatchObject([{ status: 'ok' }]);
      expect(await flow.rebuild()).toMatchObject({ exitCode: 0, streams: [{ scans: 3 }] });
    },
  );

  it('is not called fit for a rebuild that its config would have refused', async () => {
    const { flow } = await createEarlierArchive();
    const moved: FlowConfig = {
      streams: { ...noBuiltIns, items: { path: 'items', paginated: true, params: { kind: 'other' } } },
    };
    const { streams } = await flow.rebuild({ config: moved });
    expect(streams).toMatchObject([{ status: 'failed' }]);
    expect(await verifyArchive(flow, moved)).toMatchObject([
      { status: 'warning', detail: streams[0]?.error?.message },
    ]);
  });
});
