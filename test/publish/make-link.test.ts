import { mkdirSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { assertTakesLinks, makeLink } from '../../src/publish/lake/make-link.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

const failWith = (code: string) => () =>
  Promise.reject(Object.assign(new Error(`${code}: not done, symlink`), { code }));

describe('links of a lake', () => {
  it('are made, and tried without a trace', async () => {
    const folder = makeTempFolder();
    await assertTakesLinks(folder);
    expect(readdirSync(folder)).toEqual([]);
    await makeLink('nowhere', join(folder, 'link'));
    expect(readlinkSync(join(folder, 'link'))).toBe('nowhere');
  });

  it.each(['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP'])('that a file system has not: %s', async (code) => {
    const folder = makeTempFolder();
    const refusal = {
      exitCode: 6,
      code: 'publish_failed',
      message: expect.stringContaining(folder) as string,
    };
    const hint = (safe: string) =>
      expect.stringMatching(new RegExp(`needs a file system with symbolic links.*${safe}`)) as string;
    await expect(assertTakesLinks(folder, failWith(code))).rejects.toMatchObject({
      ...refusal,
      hint: hint('Nothing was requested'),
    });
    await expect(makeLink('nowhere', join(folder, 'link'), failWith(code))).rejects.toMatchObject({
      ...refusal,
      hint: hint('committed in the state folder'),
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('that fail for another reason are said to fail for that', async () => {
    const folder = makeTempFolder();
    await expect(makeLink('nowhere', join(folder, 'link'), failWith('EACCES'))).rejects.toThrow('EACCES');
    await expect(assertTakesLinks(folder, failWith('EACCES'))).resolves.toBeUndefined();
    mkdirSync(join(folder, 'taken'));
    await expect(makeLink('nowhere', join(folder, 'taken'))).rejects.toMatchObject({ code: 'EEXIST' });
  });

  it('are not tried where nothing can be written: others tell that', async () => {
    await expect(assertTakesLinks(join(makeTempFolder(), 'none'))).resolves.toBeUndefined();
  });
});
