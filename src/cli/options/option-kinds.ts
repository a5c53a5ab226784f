import { isTooLong, longestMessage, parseDuration } from '../../text/duration.ts';
import { findDateProblem } from '../../text/past-date.ts';
import type { Option, OptionText, ParsedValue } from './option.ts';

/** An option that is given or not. */
export function flagOption(text: OptionText): Option<boolean> {
  return { ...text, takesValue: false, example: 'true', parse: parseBoolean };
}

/** An option with any non-empty text. */
export function textOption(text: OptionText & { readonly example: string }): Option<string> {
  return { valueName: 'text', ...text, takesValue: true, parse: (value) => ({ value }) };
}

const LARGEST_COUNT = 1_000_000_000_000;

/** An option with a whole number between `min` and `max`. */
export function countOption(
  text: OptionText & { readonly example: string; readonly min?: number; readonly max?: number },
): Option<number> {
  const { min = 1, max, ...rest } = text;
  const bounds = max === undefined ? `, ${min} or more` : ` from ${min} to ${max}`;
  const problem = `must be a whole number${bounds}`;
  return {
    valueName: 'number',
    ...rest,
    takesValue: true,
    parse(value) {
      const count = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
      return count >= min && count <= (max ?? LARGEST_COUNT) ? { value: count } : { problem };
    },
  };
}

/** An option with a duration such as `30m`, in milliseconds. */
export function durationOption(
  text: OptionText & { readonly example: string; readonly allowsZero: boolean },
): Option<number> {
  const { allowsZero, ...rest } = text;
  const problem = allowsZero ? 'must be 0 or a duration' : 'must be a duration longer than 0';
  return {
    valueName: 'time',
    ...rest,
    takesValue: true,
    parse(value) {
      const ms = parseDuration(value);
      if (ms === undefined || (ms === 0 && !allowsZero)) return { problem };
      return isTooLong(ms) ? { problem: longestMessage } : { value: ms };
    },
  };
}

/** An option with a calendar date that is not in the future. */
export function dateOption(text: OptionText & { readonly example: string }): Option<string> {
  return { valueName: 'date', ...text, takesValue: true, parse: parsePastDate };
}

/** An option with one of a few words. */
export function choiceOption<const T extends string>(
  text: OptionText & { readonly choices: readonly [T, ...T[]] },
): Option<T> {
  const { choices, ...rest } = text;
  return {
    valueName: 'word',
    ...rest,
    takesValue: true,
    example: choices[0],
    parse(value) {
      const choice = choices.find((one) => one === value);
      return choice === undefined ? { problem: `must be one of ${choices.join(', ')}` } : { value: choice };
    },
  };
}

/** An option with a comma-separated list of names. */
export function listOption(
  text: OptionText & { readonly example: string; readonly pattern: RegExp; readonly problem: string },
): Option<readonly string[]> {
  const { pattern, problem, ...rest } = text;
  return {
    valueName: 'names',
    ...rest,
    takesValue: true,
    isList: true,
    parse(value) {
      const names = [...new Set(value.split(',').map((name) => name.trim()))];
      return names.every((name) => pattern.test(name)) ? { value: names } : { problem };
    },
  };
}

/** An option whose text has to match a pattern. */
export function patternOption(
  text: OptionText & { readonly example: string; readonly pattern: RegExp; readonly problem: string },
): Option<string> {
  const { pattern, problem, ...rest } = text;
  return {
    valueName: 'text',
    ...rest,
    takesValue: true,
    parse: (value) => (pattern.test(value) ? { value } : { problem }),
  };
}

const TRUE_WORDS = ['true', '1', 'yes', 'on'];
const FALSE_WORDS = ['false', '0', 'no', 'off'];

function parseBoolean(text: string): ParsedValue<boolean> {
  const word = text.trim().toLowerCase();
  if (TRUE_WORDS.includes(word)) return { value: true };
  if (FALSE_WORDS.includes(word)) return { value: false };
  return { problem: 'must be true or false' };
}

function parsePastDate(text: string, nowMs: number): ParsedValue<string> {
  const problem = findDateProblem(text, nowMs);
  return problem === undefined ? { value: text } : { problem };
}
