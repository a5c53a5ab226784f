import { copyFile, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { areChecked } from '../../src/publish/lakehouse/checked-extensions.ts';
import { openEngine } from '../../src/publish/lakehouse/open-engine.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { findExtensions, placeOf } from '../support/lake-servers.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

const NAME = 'sqlite_scanner';

/** A folder with the file of one extension. */
interface OwnFolder {
  readonly folder: string;
  readonly file: string;
  readonly original: string;
}

async function makeFolder(): Promise<OwnFolder> {
  const folder = makeTempFolder();
  const file = join(folder, placeOf(NAME));
  const original = join(findExtensions() ?? '', placeOf(NAME));
  await mkdir(dirname(file), { recursive: true });
  await copyFile(original, file);
  return { folder, file, original };
}

/** Opens an engine with the extension, and reads whether it would load one without a valid signature. */
async function open({ folder }: OwnFolder): Promise<boolean> {
  const extensions = { folder, installs: false };
  const reach = { extensions, needs: [NAME], places: [], attach: () => Promise.resolve() };
  const engine = await openEngine({ mode: 'create' }, reach);
  try {
    const [row] = await engine.all(`SELECT current_setting('allow_unsigned_extensions') AS is_allowed`);
    return row?.['is_allowed'] === true;
  } finally {
    await engine.release();
  }
}

/** Puts a file in the place of the extension's, as an installer does. */
async function replace({ file }: OwnFolder, bytes: Uint8Array): Promise<void> {
  await writeFile(`${file}.new`, bytes);
  await rename(`${file}.new`, file);
}

describeWithServers('extensions of engines that are opened one after the other', () => {
  it('are checked by the first one, and by no other while their files stay the same', async () => {
    const own = await makeFolder();
    expect(await areChecked(own.folder, [NAME])).toBe(false);
    expect(await open(own)).toBe(false);
    expect(await areChecked(own.folder, [NAME])).toBe(true);
    expect(await areChecked(own.folder, [NAME, 'httpfs'])).toBe(false);
    expect(await open(own)).toBe(true);
    await replace(own, await readFile(own.original));
    expect(await open(own)).toBe(false);
    expect(await open(own)).toBe(true);
  });

  it('are refused where a file is not the one that was checked, each time', async () => {
    const own = await makeFolder();
    await open(own);
    const changed = await readFile(own.original);
    changed[1000] = (changed[1000] ?? 0) ^ 1;
    await replace(own, changed);
    await expect(open(own)).rejects.toThrow('signature');
    await expect(open(own)).rejects.toThrow('signature');
    await rm(own.file);
    await expect(open(own)).rejects.toThrow('not found');
    await replace(own, await readFile(own.original));
    expect(await open(own)).toBe(false);
  });
});
