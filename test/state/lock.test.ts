import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { lockStateFolder, makeStateFolder } from '../../state/lock.ts';
import { LockedError, StorageError } from '../../src/model/errors.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

const run = promisify(execFile);
const SINCE = '2026-01-31T12:00:00.000Z';
const MODULE = JSON.stringify(join(import.meta.dirname, '../../state/lock.ts'));

/** A process that takes the lock, says so and stays. */
async function startHolder(folder: string): Promise<ChildProcess> {
  const script = `
    import { lockStateFolder } from ${MODULE};
    await lockStateFolder(process.argv[1], '2026-01-30T00:00:00.000Z');
    console.log('held');
    setInterval(() => {}, 1_000);`;
  const child = spawn(process.execPath, ['--no-warnings', '--input-type=module', '-e', script, folder]);
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  await once(child.stdout, 'data');
  return child;
}

/** What another process gets when it asks for the lock. */
async function askElsewhere(folder: string): Promise<{ readonly code: string; readonly message: string }> {
  const script = `
    import { lockStateFolder } from ${MODULE};
    await lockStateFolder(process.argv[1], 'now').then(
      () => console.log(JSON.stringify({ code: 'taken', message: '' })),
      ({ code, message }) => console.log(JSON.stringify({ code, message })),
    );`;
  const { stdout } = await run(process.execPath, [
    '--no-warnings',
    '--input-type=module',
    '-e',
    script,
    folder,
  ]);
  return JSON.parse(stdout) as { code: string; message: string };
}

describe('the state lock', () => {
  it('is refused a second time in the same process, naming the holder', async () => {
    const folder = join(makeTempFolder(), 'state');
    const lock = await lockStateFolder(folder, SINCE);
    // Refusing must not unlock the lock that is held.
    for (let times = 0; times < 3; times += 1) {
      const second = lockStateFolder(folder, 'later');
      await expect(second).rejects.toBeInstanceOf(LockedError);
      await expect(second).rejects.toMatchObject({
        code: 'state_locked',
        exitCode: 75,
        recovery: 'stop-run',
      });
      await expect(second).rejects.toThrow(`pid ${process.pid} on ${hostname()} since ${SINCE}`);
      expect(await askElsewhere(folder)).toMatchObject({ code: 'state_locked' });
    }
    await lock.release();
    const next = await lockStateFolder(folder, SINCE);
    await next.release();
  });

  it('is refused to another process, naming the holder', async () => {
    const folder = join(makeTempFolder(), 'state');
    const lock = await lockStateFolder(folder, SINCE);
    const refused = await askElsewhere(folder);
    expect(refused.code).toBe('state_locked');
    expect(refused.message).toContain(`pid ${process.pid} on ${hostname()} since ${SINCE}`);
    await lock.release();
    expect(await askElsewhere(folder)).toMatchObject({ code: 'taken' });
  });

  it('dies with its process, killed in whatever way', async () => {
    const folder = join(makeTempFolder(), 'state');
    const holder = await startHolder(folder);
    await expect(lockStateFolder(folder, SINCE)).rejects.toThrow(
      `pid ${holder.pid ?? 0} on ${hostname()} since 2026-01-30T00:00:00.000Z`,
    );
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    const lock = await lockStateFolder(folder, SINCE);
    expect(JSON.parse(readFileSync(join(folder, 'lock.json'), 'utf8'))).toMatchObject({ pid: process.pid });
    await lock.release();
  });

  it('may be released twice', async () => {
    const folder = join(makeTempFolder(), 'state');
    const lock = await lockStateFolder(folder, SINCE);
    await lock.release();
    const next = await lockStateFolder(folder, SINCE);
    await lock.release();
    await expect(lockStateFolder(folder, SINCE)).rejects.toBeInstanceOf(LockedError);
    await next.release();
  });

  it('is not taken from what a file says', async () => {
    const folder = join(makeTempFolder(), 'state');
    mkdirSync(folder);
    writeFileSync(
      join(folder, 'lock.json'),
      JSON.stringify({ pid: 1, host: 'x', since: 'y', command: 'sync' }),
    );
    await (await lockStateFolder(folder, SINCE)).release();
  });

  it.each(['', '{', 'null', '{"pid":"1"}'])(
    'is refused without a name when lock.json reads %j',
    async (text) => {
      const folder = join(makeTempFolder(), 'state');
      const lock = await lockStateFolder(folder, SINCE);
      writeFileSync(join(folder, 'lock.json'), text);
      await expect(lockStateFolder(folder, SINCE)).rejects.toThrow('another process');
      rmSync(join(folder, 'lock.json'));
      await expect(lockStateFolder(folder, SINCE)).rejects.toThrow('another process');
      await lock.release();
    },
  );

  it('belongs to its owner only', async () => {
    const folder = join(makeTempFolder(), 'a', 'state');
    const lock = await lockStateFolder(folder, SINCE);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    for (const name of ['lock.sqlite', 'lock.json'])
      expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    await lock.release();
  });

  it('is taken all the same when its file is not a database, which is kept', async () => {
    const folder = join(makeTempFolder(), 'state');
    mkdirSync(folder);
    const file = join(folder, 'lock.sqlite');
    writeFileSync(file, 'no database at all, '.repeat(100));
    const lock = await lockStateFolder(folder, SINCE);
    expect(readFileSync(`${file}.damaged`, 'utf8')).toHaveLength(2_000);
    expect(await askElsewhere(folder)).toMatchObject({ code: 'state_locked' });
    await lock.release();
  });

  it('is unlocked even if its note for people cannot be removed', async () => {
    const folder = join(makeTempFolder(), 'state');
    const lock = await lockStateFolder(folder, SINCE);
    rmSync(join(folder, 'lock.json'));
    mkdirSync(join(folder, 'lock.json', 'in the way'), { recursive: true });
    await lock.release();
    rmSync(join(folder, 'lock.json'), { recursive: true });
    await (await lockStateFolder(folder, SINCE)).release();
  });

  it('is unlocked when the holder cannot be written down', async () => {
    const folder = join(makeTempFolder(), 'state');
    mkdirSync(join(folder, 'lock.json'), { recursive: true });
    await expect(lockStateFolder(folder, SINCE)).rejects.toBeInstanceOf(StorageError);
    rmSync(join(folder, 'lock.json'), { recursive: true });
    await (await lockStateFolder(folder, SINCE)).release();
  });
});

describe('makeStateFolder', () => {
  it('says what to do when something is in the way', () => {
    const file = join(makeTempFolder(), 'state');
    writeFileSync(file, '');
    for (const folder of [file, join(file, 'below')]) {
      expect(() => {
        makeStateFolder(folder);
      }).toThrow(StorageError);
    }
  });
});
