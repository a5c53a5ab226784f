import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { guessStateDir } from '../../src/config/guess-state-dir.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

describe('the state folder of a config that is not valid', () => {
  it.each([
    ['unknown: 1', '.sluice'],
    ['stateDir: ./kept\nunknown: 1', 'kept'],
    ['stateDir: ${WHERE}/kept', 'set/kept'],
    ['stateDir: ${NOWHERE}/kept', undefined],
    ['stateDir: ~/kept', 'home/kept'],
    ['stateDir: [kept]', undefined],
    ['stateDir: 5', undefined],
    ['source: [\nstateDir: "./kept" # here', 'kept'],
    ["source: [\nstateDir: './kept'", 'kept'],
    ['source: [\nstateDir: ${WHERE}/kept', 'set/kept'],
    ['source: [\n  stateDir: ./other', '.sluice'],
    ['- a list', '.sluice'],
    ['', '.sluice'],
    ['\u0000', '.sluice'],
    [undefined, '.sluice'],
  ])('of %j is %s', (text, expected) => {
    const folder = makeTempFolder();
    const path = join(folder, 'sluice.yaml');
    if (text !== undefined) writeFileSync(path, text);
    const env = { WHERE: './set', HOME: join(folder, 'home') };
    const found = guessStateDir({ path, env, platform: 'linux' });
    expect(found).toBe(expected === undefined ? undefined : join(folder, expected));
  });
});
