import { globalOptions } from './global-options.ts';
import type { Option } from './option.ts';

/** The words that may be options: those after `--` are words as they stand. */
export function listOptionWords(argv: readonly string[]): readonly string[] {
  const end = argv.indexOf('--');
  return end < 0 ? argv : argv.slice(0, end);
}

/** The value of an option that is given as one word or two, by its names with their dashes; the last one counts. */
export function findOptionValue(argv: readonly string[], names: readonly string[]): string | undefined {
  const words = listOptionWords(argv);
  const at = words.findLastIndex((word) => names.includes(word.split('=')[0] ?? ''));
  const word = words[at];
  if (word === undefined) return undefined;
  return word.includes('=') ? word.slice(word.indexOf('=') + 1) : words[at + 1];
}

const HELP_WORDS = ['--help', '--help=true', '--h', '-h'];

/** Whether help is asked for: the letter h in a word such as `-1h` does not. */
export function asksForHelp(argv: readonly string[]): boolean {
  return listOptionWords(argv).some((word) => HELP_WORDS.includes(word));
}

/** Whether a word that begins with dashes is a text: a comment of SQL, with a space or a line break after it. */
export function isDashedText(word: string): boolean {
  return /^--(\s|[^=\s][^=]*[\n\r]\s*\S)/.test(word);
}

/** `--output -` as `--output=-`: alone, a dash is taken for an option without a name. */
export function joinDashes(argv: readonly string[]): readonly string[] {
  const isOption = (word: string | undefined) => word !== undefined && /^--[^=\s]+$/.test(word);
  const count = listOptionWords(argv).length;
  const isValue = (i: number) => i < count && argv[i] === '-' && isOption(argv[i - 1]);
  return argv.flatMap((word, i) => (isValue(i) ? [] : isValue(i + 1) ? `${word}=-` : word));
}

/** Where the first word of the command's name is, -1 without one; `--config help` names a file. */
export function findCommandAt(argv: readonly string[]): number {
  return argv.findIndex((word, i) => !word.startsWith('-') && !isGlobalOption(argv[i - 1]));
}

function isGlobalOption(word: string | undefined): boolean {
  const options: readonly Option<unknown>[] = Object.values(globalOptions);
  return options.some(
    ({ flag, alias, takesValue }) => takesValue && (word === `--${flag}` || word === `-${alias}`),
  );
}
