import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { prepareScratch } from '../../../src/cli/fleet/prepare-scratch.ts';
import { makeTempFolder } from '../../support/temp-folder.ts';

it('makes the folder of a worker, and removes what killed ones of this machine left alone', () => {
  const root = join(makeTempFolder(), 'not', 'there');
  const kept = [
    `worker-another-host-${process.pid}-abcdef`,
    `worker-${hostname()}-${process.ppid}-abcdef`,
    'extensions',
  ];
  for (const name of [...kept, `worker-${hostname()}-${process.pid}-abcdef`])
    mkdirSync(join(root, name), { recursive: true });
  const { own, extensions } = prepareScratch(root, 'host-1-123456');
  expect(readdirSync(root).toSorted()).toEqual([...kept, 'worker-host-1-123456'].toSorted());
  expect(statSync(own).mode & 0o777).toBe(0o700);
  expect(extensions).toBe(join(root, 'extensions'));
});

it('refuses a place where no folder can be made, and says which option names another', () => {
  const file = join(makeTempFolder(), 'file');
  writeFileSync(file, '');
  expect(() => prepareScratch(join(file, 'below'), 'host-1-123456')).toThrow(
    expect.objectContaining({
      exitCode: 6,
      message: expect.stringContaining(`runs cannot work in ${join(file, 'below')}: `) as string,
      hint: expect.stringContaining('--scratch') as string,
    }) as Error,
  );
});
