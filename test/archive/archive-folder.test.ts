import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  announceScan,
  confirmScan,
  listArchive,
  makeArchiveFolder,
  removeScans,
  settleArchive,
} from '../../src/archive/archive-folder.ts';
import { pruneArchive } from '../../src/archive/prune-archive.ts';
import { countRuns, createRandom } from '../support/seeds.ts';
import { makeTempFolder } from '../support/temp-folder.ts';
import { makeArchived, makeIncremental } from './archived-scans.ts';

let folder: string;
beforeEach(() => {
  folder = join(makeTempFolder(), 'items', 'whole');
  makeArchiveFolder(folder);
});

const runsIn = async (committed?: string) =>
  (await listArchive(folder, committed)).scans.map(({ runId }) => runId);

async function keep(scan: ReturnType<typeof makeArchived>): Promise<void> {
  await announceScan(folder, scan);
  await confirmScan(folder, scan);
}

describe('the folder of an archive', () => {
  it('counts a scan once it is confirmed', async () => {
    const scan = makeArchived(1);
    await announceScan(folder, scan);
    expect(await runsIn()).toEqual([]);
    await confirmScan(folder, scan);
    expect(await runsIn()).toEqual(['r1']);
    expect((await listArchive(folder, undefined)).scans).toEqual([scan]);
  });

  it('is empty where it was never made', async () => {
    expect(await listArchive(join(folder, 'nowhere'), undefined)).toEqual({ scans: [], damaged: [] });
  });

  it('counts one that was committed and not confirmed, by the run of the checkpoint', async () => {
    await announceScan(folder, makeArchived(1));
    expect(await runsIn('r1')).toEqual(['r1']);
    expect(await runsIn('r0')).toEqual([]);
  });

  it.each([
    ['r2', ['r1', 'r2']],
    ['r1', ['r1']],
  ])('settles what a killed run left, when %s was committed last', async (committed, left) => {
    await keep(makeArchived(1));
    await announceScan(folder, makeIncremental(2));
    writeFileSync(join(folder, 'records.part'), '');
    await settleArchive(folder, committed);
    expect(await runsIn()).toEqual(left);
    expect(readdirSync(folder).filter((name) => !name.endsWith('.json'))).toEqual([]);
  });

  it('names a header that cannot be read, and continues', async () => {
    await keep(makeArchived(1));
    writeFileSync(join(folder, '20260101T000000000Z-0.json'), '{');
    writeFileSync(join(folder, '20260102T000000000Z-0.json'), '{"format":"sluice-archive","version":2}');
    const { scans, damaged } = await listArchive(folder, undefined);
    expect(scans).toHaveLength(1);
    expect(damaged).toEqual([
      { path: join(folder, '20260101T000000000Z-0.json'), reason: 'it is not JSON' },
      {
        path: join(folder, '20260102T000000000Z-0.json'),
        reason: 'it is not a header that this version can read',
      },
    ]);
  });

  it('takes no header for whole that has a bit flipped, whatever it says then', async () => {
    const scan = makeIncremental(1, { known: { keyFields: ['id'] }, total: 3 });
    await keep(scan);
    const [name = ''] = readdirSync(folder);
    const file = join(folder, name);
    const whole = readFileSync(file);
    const random = createRandom();
    for (let round = 0; round < countRuns(400); round += 1) {
      const bytes = Buffer.from(whole);
      const at = Math.floor(random() * whole.length * 8);
      bytes[at >> 3] = (bytes[at >> 3] ?? 0) ^ (1 << (at & 7));
      writeFileSync(file, bytes);
      const { scans, damaged } = await listArchive(folder, undefined);
      // A space between members may change, and the name of the checksum.
      if (scans.length > 0) expect(scans, `bit ${at % 8} of byte ${at >> 3}`).toEqual([scan]);
      else expect(damaged).toMatchObject([{ path: file }]);
    }
  });

  it('reads headers of earlier releases, which have no checksum', async () => {
    const scan = makeArchived(1);
    writeFileSync(join(folder, '19700102T000001000Z-0.json'), JSON.stringify(scan));
    expect(await listArchive(folder, undefined)).toEqual({ scans: [scan], damaged: [] });
  });

  it('drops records when the last header that names them goes', async () => {
    const name = (digit: string) => `${digit.repeat(32)}.ndjson.zst`;
    const content = (digit: string) => ({ file: name(digit), sha256: '', bytes: 0, packedBytes: 0 });
    const scans = [
      makeArchived(1, { content: content('1') }),
      makeArchived(2, { content: content('1') }),
      makeArchived(3, { content: content('3') }),
    ];
    for (const scan of scans) await keep(scan);
    for (const digit of ['1', '3', '9']) writeFileSync(join(folder, name(digit)), '');
    await removeScans(folder, scans.slice(0, 1));
    expect([1, 3, 9].map((digit) => existsSync(join(folder, name(String(digit)))))).toEqual([
      true,
      true,
      false,
    ]);
    await removeScans(folder, scans.slice(1, 2));
    expect(existsSync(join(folder, name('1')))).toBe(false);
  });

  it('is searched only when a file name shows an older scan', async () => {
    for (const scan of [makeArchived(1), makeArchived(2), makeArchived(3)]) await keep(scan);
    const rules = { lastRunId: 'r3', masks: {}, thorough: false };
    await pruneArchive(folder, { ...rules, beforeMs: 86_400_000 });
    expect(await runsIn()).toEqual(['r1', 'r2', 'r3']);
    await pruneArchive(folder, { ...rules, beforeMs: 2 * 86_400_000 });
    expect(await runsIn()).toEqual(['r2', 'r3']);
  });
});
