import { describe, expect, it } from 'vitest';
import { median, writeFinding, writeGoal, writeNumber } from '../../bench/support/finding.ts';
import { createHoursClock } from '../../bench/support/hours-clock.ts';
import { checkRatios, readRatios, writeRatios } from '../../bench/support/ratios.ts';
import { readArguments } from '../../bench/support/read-arguments.ts';
import { replaceSection } from '../../bench/support/write-page.ts';

describe('arguments of the benchmarks', () => {
  const known = ['quota', 'start'];

  it.each([
    [[], { names: known, size: undefined, write: false, check: false }],
    [['all', '--write'], { names: known, size: undefined, write: true, check: false }],
    [['quota'], { names: ['quota'], size: undefined, write: false, check: false }],
    [['--check'], { names: known, size: undefined, write: false, check: true }],
    [['--write', 'start', '25'], { names: ['start'], size: 25, write: true, check: false }],
  ])('%j', (args, request) => {
    expect(readArguments(args, known)).toEqual(request);
  });

  it.each([
    [['speed'], 'There is no part speed.'],
    [['quota', '1', '2'], 'There is no part quota 2.'],
    [['quota', '0'], 'A size is a whole number from 1: 0'],
    [['quota', '1e6'], 'A size is a whole number from 1: 1e6'],
    [['all', '5'], 'A size needs a part.'],
    [['quota', '5', '--check'], '--check compares with the page'],
    [['--check', '--write'], '--check compares with the page'],
    [['--fast'], "Unknown option '--fast'"],
  ])('%j is refused', (args, message) => {
    const refused = readArguments(args, known);
    expect(refused).toContain(message);
    expect(refused).toContain('Usage: npm run bench -- [all|quota|start] [size] [--write | --check]');
  });
});

describe('findings', () => {
  it('are written as a table with notes', () => {
    const text = writeFinding({
      title: 'T',
      head: ['', 's'],
      rows: [['a', '1']],
      notes: [writeGoal('fast', true, '1 s'), writeGoal('small', false, '9 MB')],
    });
    expect(text.split('\n')).toEqual([
      '**T**',
      '',
      '|  | s |',
      '| --- | ---: |',
      '| a | 1 |',
      '',
      '- Goal: fast. Met: 1 s.',
      '- Goal: small. **Not met**: 9 MB.',
    ]);
  });

  it('take the middle value, and digits enough to compare', () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 3, 2])).toBe(2);
    expect([0.0123, 1.234, 12.34, 123.4].map(writeNumber)).toEqual(['0.012', '1.23', '12.3', '123']);
  });

  it('replace what stands between the marks of their part, and nothing else', () => {
    const page = 'a\n<!-- quota -->\n\nold\n\n<!-- end of quota -->\nb\n';
    const written = replaceSection(page, 'quota', 'new $1');
    expect(written).toBe('a\n<!-- quota -->\n\nnew $1\n\n<!-- end of quota -->\nb\n');
    expect(replaceSection(written, 'quota', 'old')).toBe(page);
    expect(() => replaceSection(page, 'start', 'x')).toThrow('the page has no marks for start');
  });
});

describe('the clock that does not wait', () => {
  it('wakes sleepers in the order of their time, and moves no further', async () => {
    const clock = createHoursClock(1_000);
    const woken: number[] = [];
    const sleep = async (ms: number) => {
      await clock.sleep(ms);
      woken.push(clock.now());
    };
    await Promise.all([sleep(7_200_000), sleep(10), sleep(3_600_000)]);
    expect(woken).toEqual([1_010, 3_601_000, 7_201_000]);
    expect(clock.monotonic()).toBe(7_200_000);
  });

  it('lets a sleeper go when its signal aborts', async () => {
    const clock = createHoursClock(0);
    const reason = new Error('stop');
    const controller = new AbortController();
    const asleep = clock.sleep(1_000, controller.signal);
    controller.abort(reason);
    await expect(asleep).rejects.toBe(reason);
    await expect(clock.sleep(1_000, controller.signal)).rejects.toBe(reason);
    expect(clock.monotonic()).toBe(0);
  });
});

describe('ratios', () => {
  const page = `<!-- start -->\n\n${writeRatios({ a: 0.38123, b: 2 })}\n\n<!-- end of start -->\n<!-- quota -->\n<!-- end of quota -->\n`;

  it('are read from the section of their part', () => {
    expect(readRatios(page, 'start')).toEqual({ a: 0.381, b: 2 });
    expect(readRatios(page, 'quota')).toEqual({});
    expect(() => readRatios(page, 'speed')).toThrow('the page has no marks for speed');
  });

  it('may fall by a fifth, not by more, and must be measured', () => {
    const checks = checkRatios({ a: 0.5, b: 2, c: 1, d: 1 }, { a: 0.41, b: 1.5, d: 3 });
    expect(checks).toEqual([
      { isFine: true, words: 'a: 0.410, 0.5 in the page (-18 %)' },
      { isFine: false, words: 'b: 1.50, 2 in the page (-25 %)' },
      { isFine: false, words: 'c: not measured, 1 in the page' },
      { isFine: true, words: 'd: 3.00, 1 in the page (+200 %)' },
    ]);
  });
});
