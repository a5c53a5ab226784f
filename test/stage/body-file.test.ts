import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { StorageError } from '../../src/model/errors.ts';
import { BodyCipher } from '../../src/stage/body-cipher.ts';
import { BodyFile } from '../../src/stage/body-file.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

async function createBody(
  cipher?: BodyCipher,
): Promise<{ readonly file: BodyFile; readonly folder: string }> {
  const folder = join(makeTempFolder(), 'stage');
  const file = await BodyFile.create(folder, cipher);
  onTestFinished(() => file.close());
  return { file, folder };
}

async function readText(file: BodyFile, start: number, end: number): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of file.read(start, end)) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

describe('a body on the disk', () => {
  it.each([
    ['as it is', undefined],
    ['unreadable for others', new BodyCipher()],
  ])('is read back, whole or in part: %s', async (_, cipher) => {
    const { file } = await createBody(cipher);
    const text = Array.from({ length: 60_000 }, (_each, n) => `line ${n}`).join('\n');
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += 9_973) await file.append(bytes.subarray(at, at + 9_973));
    expect(await readText(file, 0, bytes.length)).toBe(text);
    expect(await readText(file, 123_457, 345_679)).toBe(text.slice(123_457, 345_679));
    expect(await readText(file, 7, 7)).toBe('');
  });

  it('restarts with each try', async () => {
    const { file } = await createBody();
    await file.append(Buffer.from('the first try, cut'));
    await file.clear();
    await file.append(Buffer.from('[1]'));
    expect(await readText(file, 0, 3)).toBe('[1]');
    await expect(readText(file, 0, 4)).rejects.toBeInstanceOf(StorageError);
  });

  // Where a system keeps the name of an open file, it goes when the file is closed.
  it.runIf(process.platform !== 'win32')('has no name, so that a crash leaves nothing of it', async () => {
    const { file, folder } = await createBody();
    await file.append(Buffer.from('[1]'));
    expect(readdirSync(folder)).toEqual([]);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  it('leaves nothing in its folder once it is closed', async () => {
    const folder = makeTempFolder();
    const file = await BodyFile.create(folder);
    await file.append(Buffer.from('[1]'));
    await file.close();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('that cannot be made says where', async () => {
    const folder = makeTempFolder();
    const path = join(folder, 'missing\u0000');
    await expect(BodyFile.create(path)).rejects.toMatchObject({ code: 'storage_failed', exitCode: 6 });
  });
});
