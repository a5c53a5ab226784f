import { describe, expect, it } from 'vitest';
import {
  choiceOption,
  countOption,
  dateOption,
  durationOption,
  flagOption,
  listOption,
} from '../../../src/cli/options/option-kinds.ts';
import { NOW_MS } from '../support/reports.ts';

const text = { flag: 'x', summary: 'X', group: 'G:', example: 'e' };
const problem = { problem: expect.any(String) as string };

describe('countOption', () => {
  const option = countOption(text);
  it.each([
    ['1', 1],
    ['1000000000', 1_000_000_000],
  ])('reads %s', (given, value) => expect(option.parse(given, NOW_MS)).toEqual({ value }));
  it.each(['0', '-1', '1.5', '1e9', ' 1', 'NaN', '0x10', '9999999999999999', '١'])('refuses %s', (given) =>
    expect(option.parse(given, NOW_MS)).toEqual(problem),
  );
  it('keeps to its bounds', () => {
    const port = countOption({ ...text, min: 0, max: 65_535 });
    expect(port.parse('0', NOW_MS)).toEqual({ value: 0 });
    expect(port.parse('65536', NOW_MS)).toEqual(problem);
  });
});

describe('durationOption', () => {
  it.each([
    ['0', 0],
    ['30m', 1_800_000],
    ['6h', 21_600_000],
    ['36500d', 3_153_600_000_000],
    ['3153600000s', 3_153_600_000_000],
  ])('reads %s', (given, value) =>
    expect(durationOption({ ...text, allowsZero: true }).parse(given, NOW_MS)).toEqual({ value }),
  );
  it.each(['banana', '-5m', '5', '5 minutes', '0'])('refuses %s where there must be some time', (given) =>
    expect(durationOption({ ...text, allowsZero: false }).parse(given, NOW_MS)).toEqual(problem),
  );
});

describe('a duration that is too long', () => {
  it.each(['36500.001d', '5215w', '999999999d', '99999999999d', `${'9'.repeat(400)}ms`])(
    'is refused with the longest one: %s',
    (given) => {
      const option = durationOption({ ...text, allowsZero: true });
      expect(option.parse(given, NOW_MS)).toEqual({ problem: 'must be at most 36500d' });
    },
  );
});

describe('dateOption', () => {
  const option = dateOption(text);
  it.each(['2026-01-31', '2024-02-29', '2026-11-20', '2026-11-21'])('reads %s', (given) =>
    expect(option.parse(given, NOW_MS)).toEqual({ value: given }),
  );
  it.each([
    '2026-02-30',
    '2026-13-01',
    '2026-1-1',
    '20260131',
    'yesterday',
    '2026-11-22',
    '2026-01-31T00:00:00Z',
  ])('refuses %s', (given) => expect(option.parse(given, NOW_MS)).toEqual(problem));
});

describe('the other kinds', () => {
  it('read booleans in the words of environments', () => {
    const option = flagOption(text);
    expect(option.parse('TRUE', NOW_MS)).toEqual({ value: true });
    expect(option.parse('0', NOW_MS)).toEqual({ value: false });
    expect(option.parse('maybe', NOW_MS)).toEqual(problem);
  });
  it('read one of a few words', () => {
    const option = choiceOption({ ...text, choices: ['csv', 'json'] });
    expect(option.parse('json', NOW_MS)).toEqual({ value: 'json' });
    expect(option.parse('xml', NOW_MS)).toEqual({ problem: 'must be one of csv, json' });
  });
  it('read lists of names, each once', () => {
    const option = listOption({ ...text, pattern: /^[a-z]+$/, problem: 'must be names' });
    expect(option.parse('a, b,a', NOW_MS)).toEqual({ value: ['a', 'b'] });
    expect(option.parse('a,,b', NOW_MS)).toEqual({ problem: 'must be names' });
    expect(option.parse('../etc', NOW_MS)).toEqual({ problem: 'must be names' });
  });
});
