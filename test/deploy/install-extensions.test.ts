import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeTempFolder } from '../support/temp-folder.ts';
import { root } from './dockerfile.ts';

const script = join(root, 'docker/install-extensions.ts');

function install(...names: readonly string[]): {
  readonly status: number | null;
  readonly stderr: string;
  readonly left: readonly string[];
} {
  const folder = makeTempFolder();
  const { status, stderr } = spawnSync(process.execPath, [script, ...names], {
    cwd: folder,
    encoding: 'utf8',
  });
  return { status, stderr, left: readdirSync(folder) };
}

it('makes an empty folder where the image needs no extension', () => {
  expect(install()).toMatchObject({ status: 0, left: ['extensions'] });
});

it.each(["httpfs'; ATTACH 'x", '../httpfs', 'HTTPFS'])('takes no other text for a name: %s', (name) => {
  const { status, stderr, left } = install('ducklake', name);
  expect(status).toBe(1);
  expect(stderr).toContain('is not the name of an extension');
  expect(left).toEqual([]);
});
