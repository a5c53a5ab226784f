import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { CommandTarget, NotifyRules } from '../../src/model/notify.ts';
import { findMissingPrograms } from '../../src/notify/find-missing-programs.ts';

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-programs-'));
  for (const name of ['tell', 'unmarked']) writeFileSync(join(folder, name), '#!/bin/sh\n');
  chmodSync(join(folder, 'tell'), 0o755);
  chmodSync(join(folder, 'unmarked'), 0o644);
  mkdirSync(join(folder, 'folder'));
  return folder;
}

describe('programs that are missing', () => {
  const folder = makeFolder();
  afterAll(() => rmSync(folder, { recursive: true }));
  const find = (program: string, env: Readonly<Record<string, string | undefined>> = {}) => {
    const failure: CommandTarget = { kind: 'command', program, args: [], cwd: folder };
    return findMissingPrograms({ failure }, { env, platform: process.platform }).map(({ flaw }) => flaw);
  };

  it('are found by their path', () => {
    expect(find(join(folder, 'tell'))).toEqual([]);
    expect(find(join(folder, 'none'))).toEqual(['does not exist']);
    expect(find(join(folder, 'tell', 'none'))).toEqual(['does not exist']);
    expect(find(join(folder, 'folder'))).toEqual(['is a folder']);
  });

  it('or by their name in PATH, whose folders may be relative to the config', () => {
    expect(find('tell', { PATH: folder })).toEqual([]);
    expect(find('tell', { PATH: '.' })).toEqual([]);
    expect(find('tell', { PATH: join(folder, 'folder') })).toEqual(['does not exist']);
    expect(find('tell', { PATH: '' })).toEqual(['does not exist']);
  });

  it.skipIf(process.platform === 'win32')('also where they are not executable', () => {
    expect(find(join(folder, 'unmarked'))).toEqual(['is not executable']);
    expect(find('sh')).toEqual([]);
  });

  it('are reported with their setting; a webhook is not a program', () => {
    const rules: NotifyRules = {
      success: { kind: 'webhook', url: new URL('https://hooks.example.com/x') },
      'schema-change': { kind: 'command', program: join(folder, 'none'), args: [], cwd: folder },
    };
    expect(findMissingPrograms(rules, { env: {}, platform: 'linux' })).toEqual([
      { setting: 'notify.onSchemaChange', program: join(folder, 'none'), flaw: 'does not exist' },
    ]);
  });
});
