import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RefusedRun } from '../../src/model/refused-run.ts';
import { hasRefusedFile, readRefusedFile, writeRefusedFile } from '../../state/refused-file.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

const refused: RefusedRun = {
  startedAt: '2026-11-20T03:00:00.000Z',
  since: '2026-11-19T03:00:00.000Z',
  times: 2,
  error: { code: 'storage_failed', message: 'no space', hint: 'Free some.', exitCode: 6 },
};

describe('the file of a refused sync', () => {
  it('keeps one, or only the room for one, is private and leaves no other file behind', () => {
    const folder = makeTempFolder();
    expect([hasRefusedFile(folder), readRefusedFile(folder)]).toEqual([false, undefined]);
    writeRefusedFile(folder, undefined);
    expect([hasRefusedFile(folder), readRefusedFile(folder)]).toEqual([true, undefined]);
    writeRefusedFile(folder, refused);
    expect(readRefusedFile(folder)).toEqual(refused);
    expect(readdirSync(folder)).toEqual(['refused.json']);
    expect(statSync(join(folder, 'refused.json')).mode & 0o777).toBe(0o600);
  });

  it.each(['x', '\u0007', 'ü', '😀'])('is one block of a disk, also of 100,000 times %j', (letter) => {
    const folder = makeTempFolder();
    const long = letter.repeat(100_000);
    writeRefusedFile(folder, { ...refused, error: { ...refused.error, message: long, hint: long } });
    expect(statSync(join(folder, 'refused.json')).size).toBe(4_096);
    const { message = '', hint = '' } = readRefusedFile(folder)?.error ?? {};
    expect(message.length).toBeGreaterThan(200);
    expect(message.at(-1)).toBe('…');
    expect(hint).toBe(message);
  });

  it('is written over where no file can be made next to it', () => {
    const folder = makeTempFolder();
    writeRefusedFile(folder, undefined);
    // What a full disk refuses, a folder in its place does.
    mkdirSync(join(folder, 'refused.json.tmp', 'x'), { recursive: true });
    expect(() => writeFileSync(join(folder, 'refused.json.tmp'), '')).toThrow(/EISDIR/);
    writeRefusedFile(folder, refused);
    expect(readRefusedFile(folder)).toEqual(refused);
    expect(readdirSync(folder)).toEqual(['refused.json']);
    expect(() => writeRefusedFile(join(folder, 'none'), refused)).toThrow(/ENOENT/);
  });

  it.each([
    '',
    '{',
    'null',
    '{"version":2,"refused":null}',
    JSON.stringify({ version: 1, refused: { ...refused, startedAt: 'yesterday' } }),
    JSON.stringify({ version: 1, refused: { ...refused, error: { ...refused.error, exitCode: 7 } } }),
  ])('counts as none when it reads %j', (text) => {
    const folder = makeTempFolder();
    writeFileSync(join(folder, 'refused.json'), text);
    expect(readRefusedFile(folder)).toBeUndefined();
    writeRefusedFile(folder, refused);
    expect(readRefusedFile(folder)).toEqual(refused);
    expect(readFileSync(join(folder, 'refused.json'), 'utf8').trimEnd()).toMatch(/^\{.*\}$/);
  });
});
