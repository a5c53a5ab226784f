import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packStage, packState } from '../../src/fleet/parcel/pack-state.ts';
import { unpackState } from '../../src/fleet/parcel/unpack-state.ts';
import { SyncError } from '../../src/model/errors.ts';
import { readStage, StageStore } from '../../src/stage/stage-store.ts';
import { countRuns, createRandom } from '../support/seeds.ts';
import { makeTempFolder } from '../support/temp-folder.ts';
import { describeShown, hashFile, makeFile } from './object-store-conformance.ts';

const seal = { key: 'correct horse battery staple, and more', name: 'acme/7' };

type Files = Readonly<Record<string, Buffer>>;

const slug = fc.stringMatching(/^[a-z0-9][a-z0-9_.-]{0,40}$/);
// Long names, and letters of any script, as in slices.
const odd = fc.oneof(
  slug,
  fc.stringMatching(/^[ !-.0-[\]-~äöüß漢字🦆]{1,60}$/u).filter((text) => !/^\.{1,2}$/.test(text)),
);
const stageFile = fc
  .tuple(
    fc.array(odd, { minLength: 1, maxLength: 4 }),
    fc.constantFrom('pages.ndjson', 'records.ndjson', 'scan.json'),
  )
  .map(([folders, name]) => ['stage', ...folders, name].join('/'));
const archiveFile = fc
  .tuple(slug, slug, slug)
  .map(([stream, scan, name]) => `archive/${stream}/${scan}/${name}.ndjson.zst`);
const topFile = fc.constantFrom(
  'work.duckdb',
  'work.duckdb.wal',
  'published.json',
  'runs.json',
  'refused.json',
  'totals.json',
  'quota/quota-0123abcd.db',
);
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 2_000 }),
  fc.constant(new Uint8Array()),
  fc.integer({ min: 500, max: 520 }).map((length) => new Uint8Array(length).fill(7)),
  fc.integer({ min: 1, max: 600_000 }).map((length) => new Uint8Array(length).fill(9)),
);
const folders = fc
  .array(fc.tuple(fc.oneof(topFile, stageFile, archiveFile), bytes), { maxLength: 12 })
  .map((list) => Object.fromEntries(list.map(([path, content]) => [path, Buffer.from(content)])));

describe('a parcel', () => {
  it('gives back every file of a state folder, under the same name and with the same bytes', async () => {
    await fc.assert(
      fc.asyncProperty(folders, async (files) => {
        const home = makeHome();
        writeFiles(join(home, 'state'), files);
        const packed = await packState(join(home, 'state'), join(home, 'parcel'), seal);
        const unpacked = await unpackState(join(home, 'parcel'), join(home, 'copy'), seal);
        expect(readFiles(join(home, 'copy'))).toEqual(files);
        expect(unpacked).toEqual({ files: packed.files, bytes: packed.bytes });
        expect(packed.files).toBe(Object.keys(files).length);
        expect(packed.packedBytes).toBe(statSync(join(home, 'parcel')).size);
        expect(readdirSync(home).toSorted()).toEqual(['copy', 'parcel', 'state']);
        rmSync(home, { recursive: true });
      }),
    );
  });

  describe('that somebody touched', () => {
    let home: string;
    let parcel: string;
    let size: number;
    beforeAll(async () => {
      home = makeHome();
      writeFiles(join(home, 'state'), {
        'runs.json': Buffer.from('[]'),
        'work.duckdb': randomBuffer(20_000),
      });
      parcel = join(home, 'parcel');
      ({ packedBytes: size } = await packState(join(home, 'state'), parcel, seal));
    });

    it('is refused when a bit of it is another, wherever it is', async () => {
      await fc.assert(
        fc.asyncProperty(fc.nat(size - 1), fc.nat(7), async (at, bit) => {
          await expectRefused(home, parcel, (copy) => {
            const all = readFileSync(copy);
            all[at] = (all[at] ?? 0) ^ (1 << bit);
            writeFileSync(copy, all);
          });
        }),
      );
    });

    it('is refused in every byte of its head and of its tag', async () => {
      for (const at of [...Array(56).keys(), ...Array.from({ length: 16 }, (_, n) => size - 1 - n)])
        await expectRefused(home, parcel, (copy) => {
          const all = readFileSync(copy);
          all[at] = (all[at] ?? 0) ^ 0xff;
          writeFileSync(copy, all);
        });
    });

    it('is refused when its end is missing, or something follows it', async () => {
      await fc.assert(
        fc.asyncProperty(fc.nat(size - 1), async (left) => {
          await expectRefused(home, parcel, (copy) => truncateSync(copy, left));
        }),
      );
      await expectRefused(home, parcel, (copy) => appendFileSync(copy, '\0'));
    });

    it('is refused under another key, and says so without either key', async () => {
      const error = await expectRefused(home, parcel, () => {}, { ...seal, key: `${seal.key}!` });
      expect(error).toMatchObject({ exitCode: 2, code: 'config_invalid' });
      expect(error.message).toContain('another key');
      expect(describeShown(error)).not.toContain(seal.key);
    });

    it('is refused under another name', async () => {
      const error = await expectRefused(home, parcel, () => {}, { ...seal, name: 'globex/7' });
      expect(error).toMatchObject({ exitCode: 6, code: 'state_damaged' });
      expect(error.message).toContain('under another name');
    });
  });

  it('differs each time, and shows nothing of its content', async () => {
    const home = makeTempFolder();
    writeFiles(join(home, 'state'), { 'runs.json': Buffer.from('visible'.repeat(100)) });
    for (const name of ['a', 'b']) await packState(join(home, 'state'), join(home, name), seal);
    const [a, b] = ['a', 'b'].map((name) => readFileSync(join(home, name)));
    expect(a?.subarray(8).equals(b?.subarray(8) ?? Buffer.alloc(0))).toBe(false);
    expect(a?.includes('visible') === true || a?.includes('runs.json') === true).toBe(false);
  });

  it('is only for its owner, like what is unpacked from it', async () => {
    const home = makeTempFolder();
    writeFiles(join(home, 'state'), { 'stage/a/scan.json': Buffer.from('{}') });
    await packState(join(home, 'state'), join(home, 'parcel'), seal);
    await unpackState(join(home, 'parcel'), join(home, 'copy'), seal);
    const modes = ['parcel', 'copy', 'copy/stage', 'copy/stage/a', 'copy/stage/a/scan.json'].map(
      (path) => statSync(join(home, path)).mode & 0o777,
    );
    expect(modes).toEqual([0o600, 0o700, 0o700, 0o700, 0o600]);
  });

  it('leaves out what only this machine needs, and what is not of Sluice', async () => {
    const home = makeTempFolder();
    const kept = [
      'work.duckdb',
      'work.duckdb.wal',
      'runs.json',
      'archive/a/whole/x.json',
      'quota/quota-a1.db',
    ];
    const left = [
      'tmp/duckdb_temp_storage_DEFAULT-0.tmp',
      'lock.sqlite',
      'lock.sqlite-journal',
      'lock.json',
      'progress.json',
      'runs.json.tmp',
      'runs.json.spare',
      'extensions/v1/linux/httpfs.duckdb_extension',
      'readers.duckdb',
      '.readers.duckdb.0123456789ab.tmp',
      'verify-12/stage/a/scan.json',
      'work.duckdb.rebuild',
      'work.duckdb.damaged-20261120T080000Z',
      'work.duckdb.damaged-20261120T080000Z.wal',
      'stage/a/body',
      'quota/quota-a1.db.damaged-1',
      'notes.txt',
      'stage/notes.txt',
      'mine/scan.json',
    ];
    const names = (list: readonly string[]) =>
      Object.fromEntries(list.map((path) => [path, Buffer.from(path)]));
    writeFiles(join(home, 'state'), names([...kept, ...left]));
    await packState(join(home, 'state'), join(home, 'parcel'), seal);
    await unpackState(join(home, 'parcel'), join(home, 'copy'), seal);
    expect(readFiles(join(home, 'copy'))).toEqual(names(kept));
    await packState(join(home, 'state'), join(home, 'parcel'), { ...seal, leaveOut: 'work-file' });
    await unpackState(join(home, 'parcel'), join(home, 'small'), seal);
    expect(readFiles(join(home, 'small'))).toEqual(names(kept.slice(2)));
  });

  it('replaces what it has in a folder, and leaves the rest', async () => {
    const home = makeTempFolder();
    writeFiles(join(home, 'state'), { 'stage/new/scan.json': Buffer.from('{}') });
    await packState(join(home, 'state'), join(home, 'parcel'), seal);
    writeFiles(join(home, 'copy'), {
      'stage/old/scan.json': Buffer.from('old'),
      'runs.json': Buffer.from('[]'),
    });
    await unpackState(join(home, 'parcel'), join(home, 'copy'), seal);
    expect(readFiles(join(home, 'copy'))).toEqual({
      'stage/new/scan.json': Buffer.from('{}'),
      'runs.json': Buffer.from('[]'),
    });
  });

  it.each(['work.duckdb', 'archive'])('is not made of a link in the place of %s', async (name) => {
    const home = makeTempFolder();
    mkdirSync(join(home, 'state'));
    mkdirSync(join(home, 'elsewhere'));
    symlinkSync(join(home, 'elsewhere'), join(home, 'state', name));
    await expect(packState(join(home, 'state'), join(home, 'parcel'), seal)).rejects.toThrow('is a link');
    expect(existsSync(join(home, 'parcel'))).toBe(false);
  });

  it('is not made of a folder that is not there', async () => {
    const home = makeTempFolder();
    const error = await packState(join(home, 'state'), join(home, 'parcel'), seal).catch((e: unknown) => e);
    expect(error).toMatchObject({ exitCode: 6, code: 'storage_failed' });
    expect(readdirSync(home)).toEqual([]);
  });

  it('takes 64 MB through the same buffers', async () => {
    const home = makeTempFolder();
    mkdirSync(join(home, 'state'));
    const file = await makeFile(join(home, 'state', 'work.duckdb'), 64 * 2 ** 20 + 3);
    await packState(join(home, 'state'), join(home, 'parcel'), seal);
    await unpackState(join(home, 'parcel'), join(home, 'copy'), seal);
    expect(await hashFile(join(home, 'copy', 'work.duckdb'))).toBe(await hashFile(file));
  });
});

describe('a parcel of staged pages', () => {
  const scan = { version: 1, stream: 'a', question: 'q', startedAtMs: 1, runId: 'r' } as const;
  const page = (n: number) => ({
    entry: { offset: n * 10, firstPosition: n * 10, rows: 10 },
    lines: `${JSON.stringify({ n, text: 'x'.repeat((n % 7) * 97) })}\n`.repeat(10),
  });

  it('has every page that was on the disk when it began, while a run adds more', async () => {
    const home = makeTempFolder();
    const store = await StageStore.begin(join(home, 'state', 'stage', 'a'), scan);
    let written = 0;
    const add = async () => {
      for (let n = 0; n < 10; n += 1, written += 1) await store.append(page(written));
    };
    for (let round = 0; round < countRuns(20); round += 1) {
      const before = written;
      await Promise.all([add(), packStage(join(home, 'state'), join(home, 'parcel'), seal)]);
      await unpackState(join(home, 'parcel'), join(home, 'copy'), seal);
      const found = await readStage(join(home, 'copy', 'stage', 'a'), { isProved: true });
      expect(found?.pages.length ?? 0).toBeGreaterThanOrEqual(before);
      expect(found?.scan ?? scan).toEqual(scan);
    }
    await store.close();
  });

  it('never mixes a scan with the one that replaces it', async () => {
    const home = makeTempFolder();
    const folder = join(home, 'state', 'stage', 'a');
    const replace = async (question: string) => {
      const store = await StageStore.begin(folder, { ...scan, question }, { isDurable: false });
      for (let n = 0; n < 5; n += 1)
        await store.append({ ...page(n), entry: { ...page(n).entry, pageHash: question } });
      await store.close();
    };
    const replaceTwice = async (round: number) => {
      await replace(`${round} a`);
      await replace(`${round} b`);
    };
    for (let round = 0; round < countRuns(100); round += 1) {
      await Promise.all([replaceTwice(round), packStage(join(home, 'state'), join(home, 'parcel'), seal)]);
      rmSync(join(home, 'copy'), { recursive: true, force: true });
      await unpackState(join(home, 'parcel'), join(home, 'copy'), seal);
      const found = await readStage(join(home, 'copy', 'stage', 'a'), { isProved: true });
      for (const { pageHash } of found?.pages ?? []) expect(pageHash).toBe(found?.scan.question);
    }
  });

  it('leaves out a scan that is not whole, and packs nothing else', async () => {
    const home = makeTempFolder();
    writeFiles(join(home, 'state'), {
      'runs.json': Buffer.from('[]'),
      'stage/half/scan.json': Buffer.from('{}'),
      'stage/whole/scan.json': Buffer.from('{}'),
      'stage/whole/pages.ndjson': Buffer.from(''),
      'stage/whole/records.ndjson': Buffer.from(''),
    });
    expect(await packStage(join(home, 'state'), join(home, 'parcel'), seal)).toMatchObject({
      files: 3,
      bytes: 2,
    });
    await unpackState(join(home, 'parcel'), join(home, 'copy'), seal);
    expect(Object.keys(readFiles(join(home, 'copy'))).every((path) => path.startsWith('stage/whole/'))).toBe(
      true,
    );
  });
});

/** Tries a copy of a parcel that was changed: refused, and the folder is as it was. */
async function expectRefused(
  home: string,
  parcel: string,
  change: (copy: string) => void,
  as = seal,
): Promise<SyncError> {
  const work = join(home, 'try');
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work);
  copyFileSync(parcel, join(work, 'parcel'));
  change(join(work, 'parcel'));
  writeFiles(join(work, 'copy'), { 'runs.json': Buffer.from('old') });
  const error = await unpackState(join(work, 'parcel'), join(work, 'copy'), as).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(SyncError);
  const { code, hint, exitCode } = error as SyncError;
  if (as === seal) expect({ code, exitCode }).toEqual({ code: 'state_damaged', exitCode: 6 });
  expect(hint).toContain('Nothing was unpacked');
  expect(readFiles(work)).toEqual({
    parcel: expect.any(Buffer) as unknown,
    'copy/runs.json': Buffer.from('old'),
  });
  return error as SyncError;
}

const root = mkdtempSync(join(tmpdir(), 'sluice-test-'));
let homes = 0;
afterAll(() => rmSync(root, { recursive: true }));

/** A folder for one of many tries: `makeTempFolder` would keep them all until the test ends. */
function makeHome(): string {
  const home = join(root, String((homes += 1)));
  mkdirSync(home);
  return home;
}

function writeFiles(folder: string, files: Files): void {
  mkdirSync(folder, { recursive: true });
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
}

function readFiles(folder: string): Files {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(files.map((file) => [file.slice(folder.length + 1), readFileSync(file)]));
}

function randomBuffer(length: number): Buffer {
  const random = createRandom();
  return Buffer.from(Array.from({ length }, () => Math.floor(random() * 256)));
}
