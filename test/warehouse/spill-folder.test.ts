import { existsSync, mkdirSync, utimesSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { nameSpillFolder } from '../../src/warehouse/spill-folder.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

/** No process has this id. */
const GONE = 2 ** 30;
const LONG_AGO = new Date(0);

it('each engine has a folder of its own to spill to', () => {
  const parent = join(makeTempFolder(), 'tmp');
  const [one, other] = [nameSpillFolder(parent), nameSpillFolder(parent)];
  expect(basename(one)).not.toBe(basename(other));
  expect([dirname(one), dirname(other)]).toEqual([parent, parent]);
});

it('what killed processes spilled is removed, and nothing else', () => {
  const parent = makeTempFolder();
  const names = [
    `spill-${GONE}-0123abcd`,
    `spill-${GONE}-4567abcd`,
    `spill-${process.ppid}-0123abcd`,
    'spill-of-somebody',
    `spill-${process.pid}-0123abcd`,
  ];
  for (const name of names) mkdirSync(join(parent, name));
  // The second one may be of an engine in another container.
  for (const name of names.filter((_, at) => at !== 1)) utimesSync(join(parent, name), LONG_AGO, LONG_AGO);
  nameSpillFolder(parent);
  expect(names.map((name) => existsSync(join(parent, name)))).toEqual([false, true, true, true, false]);
});
