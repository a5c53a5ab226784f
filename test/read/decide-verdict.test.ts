import { describe, expect, it } from 'vitest';
import { decideVerdict, type ScanFacts } from '../../src/read/decide-verdict.ts';

const whole: ScanFacts = {
  complete: true,
  problems: [],
  total: 100,
  rows: 100,
  headUnchanged: true,
  limited: false,
};

describe('decideVerdict', () => {
  it.each<readonly [string, Partial<ScanFacts>, string, readonly string[]]>([
    ['is whole and counted', {}, 'verified', []],
    ['was one page', { headUnchanged: undefined }, 'verified', []],
    ['is empty, as declared', { total: 0, rows: 0, headUnchanged: undefined }, 'verified', []],
    ['had no total', { total: undefined }, 'unverified', ['the API declared no total']],
    ['had a problem', { problems: ['x', 'y'] }, 'drifted', ['x', 'y']],
    ['had a problem and no total', { total: undefined, problems: ['x'] }, 'drifted', ['x']],
    [
      'has a head that changed',
      { headUnchanged: false },
      'drifted',
      ['the first page changed while the others were read'],
    ],
    ['is short of its total', { rows: 99 }, 'drifted', ['99 records returned of 100 declared']],
    ['is beyond its total', { rows: 101 }, 'drifted', ['101 records returned of 100 declared']],
    ['has a problem and is short: the problem says why', { rows: 99, problems: ['x'] }, 'drifted', ['x']],
    ['was not read to its end', { complete: false, rows: 40 }, 'partial', []],
    ['was not read to its end and moved', { complete: false, problems: ['x'] }, 'drifted', ['x']],
    ['was ended by --limit', { limited: true, rows: 40 }, 'partial', ['ended by --limit']],
    [
      'was ended by --limit without a total',
      { limited: true, total: undefined },
      'partial',
      ['ended by --limit'],
    ],
    [
      'was ended by --limit at a changed head',
      { limited: true, headUnchanged: false },
      'drifted',
      [expect.any(String) as string],
    ],
  ])('of a scan that %s', (_, facts, verdict, reasons) => {
    expect(decideVerdict({ ...whole, ...facts })).toMatchObject({ verdict, reasons });
  });

  it.each<readonly [string, Partial<ScanFacts>, string | undefined]>([
    ['has problems of either kind', { problems: ['x'] }, 'moved'],
    ['moved', { problems: ['x'], moved: true }, 'moved'],
    ['contradicts itself', { problems: ['x'], moved: false }, 'contradiction'],
    [
      'contradicts itself and has a head that changed',
      { problems: ['x'], moved: false, headUnchanged: false },
      'moved',
    ],
    ['is short of its total and shows nothing else', { rows: 99 }, 'contradiction'],
    ['is verified', {}, undefined],
    ['was not read to its end', { complete: false }, undefined],
  ])('tells why a scan drifted that %s', (_, facts, cause) => {
    expect(decideVerdict({ ...whole, ...facts }).cause).toBe(cause);
  });
});
