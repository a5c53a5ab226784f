import { execFileSync, spawn } from 'node:child_process';
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writeNamed } from '../../src/files/write-named.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

const how = { mark: 'abc', mode: 0o666 };
const bytes = Buffer.alloc(1_000_000, 'x');

describe('what a user names as output', () => {
  it('is replaced whole where it is a file, and leaves nothing next to it', async () => {
    const folder = makeTempFolder();
    const file = join(folder, 'page.html');
    writeFileSync(file, 'old');
    await writeNamed(file, Buffer.from('new'), how);
    expect(readFileSync(file, 'utf8')).toBe('new');
    expect(readdirSync(folder)).toEqual(['page.html']);
  });

  it('stays a link, and the file that it leads to is written', async () => {
    const folder = makeTempFolder();
    mkdirSync(join(folder, 'site'));
    for (const name of ['there.html', 'not-yet.html']) {
      const link = join(folder, name);
      symlinkSync(join('site', name), link);
      if (name === 'there.html') writeFileSync(link, 'old');
      await writeNamed(link, Buffer.from('new'), how);
      expect(lstatSync(link).isSymbolicLink()).toBe(true);
      expect(readFileSync(join(folder, 'site', name), 'utf8')).toBe('new');
    }
  });

  describe.skipIf(process.platform === 'win32')('as a pipe', () => {
    it('takes more bytes than fit into it, and stays a pipe', async () => {
      const pipe = join(makeTempFolder(), 'pipe');
      execFileSync('mkfifo', [pipe]);
      // Open for both, it waits for no writer; and it reads nothing until it is told to.
      const script = 'exec 3<> "$0"; echo open; read -r go; head -c 1000000 <&3 | wc -c';
      const reader = spawn('sh', ['-c', script, pipe]);
      let said = '';
      const isOpen = new Promise((resolve) => reader.stdout.once('data', resolve));
      reader.stdout.on('data', (part: Buffer) => (said += part.toString()));
      const isClosed = new Promise((resolve) => reader.once('close', resolve));
      await isOpen;
      const written = writeNamed(pipe, bytes, how);
      reader.stdin.end('go\n');
      await Promise.all([written, isClosed]);
      expect(said.split('\n').map((line) => line.trim())).toEqual(['open', '1000000', '']);
      expect(statSync(pipe).isFIFO()).toBe(true);
    });

    it('is refused at once where nobody reads from it', async () => {
      const pipe = join(makeTempFolder(), 'pipe');
      execFileSync('mkfifo', [pipe]);
      await expect(writeNamed(pipe, bytes, how)).rejects.toThrow(/ENXIO/);
      expect(statSync(pipe).isFIFO()).toBe(true);
    });
  });
});
