import type { Command } from './frame/command.ts';
import type { CommandEntry } from './commands.ts';
import { globalOptions } from './options/global-options.ts';
import type { Option } from './options/option.ts';
import { listOptionWords } from './options/option-words.ts';
import { parseFlag } from './options/resolve-values.ts';
import { takesStreams } from './steps/named-streams.ts';
import { quoteForShell } from './options/quote-for-shell.ts';
import { suggestName } from './options/suggest-name.ts';
import { usageError } from './options/usage-error.ts';

/** The command a command line names. */
export interface ChosenCommand {
  readonly name: string;
  readonly command: Command;
}

/** A command line after yargs took it apart. */
export interface ArgumentsToCheck {
  readonly argv: readonly string[];
  /** Words that are neither options nor their values, the command's name first. */
  readonly words: readonly string[];
  readonly flags: Readonly<Record<string, unknown>>;
  readonly chosen: ChosenCommand | undefined;
  readonly commands: readonly CommandEntry[];
}

const ALWAYS_KNOWN = ['help', 'h', 'version'];
// A key on the command line is read by every user of the machine and stays in the shell's history.
const SECRET_FLAG = /^(api-?key|key|token|(api|access|bearer|auth)-?token|secret|password|bearer|jwt|k)$/i;

// Not an option, but a value or a word.
const NEGATIVE_NUMBER = /^-(\d+(\.\d+)?|\.\d+)$/;

/**
 * Throws a usage error for letters that stand together behind one dash, and for an option in the place of a value.
 * Both may hide a flag for help or the version, which nobody asked for: `--deadline -1h`.
 */
export async function checkDashes(given: ArgumentsToCheck): Promise<void> {
  const options = listOptions(given);
  const names = listNames(given, options);
  refuseSecrets(listUnknown(given, names));
  const words = listOptionWords(given.argv);
  for (const [at, word] of words.entries()) {
    if (!word.startsWith('-') || NEGATIVE_NUMBER.test(word)) continue;
    const before = options.find(
      ({ flag, alias }) => words[at - 1] === `--${flag}` || words[at - 1] === `-${alias}`,
    );
    if (before?.takesValue === true) refuseValue(before, word);
    if (!isBundle(word, options)) continue;
    const glued = options.find(({ alias, takesValue }) => takesValue && alias === word[1]);
    if (glued === undefined) throw await unknownOption(word, names, given.chosen);
    throw usageError(
      `-${word[1]} needs a space before its value`,
      `Write it as -${word[1]} ${glued.flag.toUpperCase()}, or as --${glued.flag}=${glued.flag.toUpperCase()}`,
    );
  }
}

/** Throws a usage error for an unknown command, option or word, and names the nearest known one. */
export async function checkArguments(given: ArgumentsToCheck): Promise<void> {
  const options = listOptions(given);
  const known = listNames(given, options);
  await checkCommand(given);
  const [first] = listUnknown(given, known);
  if (first !== undefined) throw await unknownOption(writeFlag(first), known, given.chosen);
  const flags = options.filter(({ takesValue }) => !takesValue).map(({ flag }) => flag);
  for (const flag of ['help', 'version', ...flags]) checkBoolean(flag, given.argv);
  checkWords(given);
}

function listOptions({ chosen }: ArgumentsToCheck): readonly Option<unknown>[] {
  return [...Object.values(globalOptions), ...(chosen?.command.options ?? [])];
}

/** Names of all options, with those of one letter. */
function listNames({ chosen }: ArgumentsToCheck, options: readonly Option<unknown>[]): readonly string[] {
  const named = chosen !== undefined && takesStreams(chosen.command).asWords ? ['streams'] : [];
  return [...ALWAYS_KNOWN, ...options.flatMap(({ flag, alias = flag }) => [flag, alias]), ...named];
}

function listUnknown({ flags }: ArgumentsToCheck, known: readonly string[]): readonly string[] {
  return Object.keys(flags).filter((name) => name !== '_' && name !== '$0' && !known.includes(name));
}

function refuseValue(option: Option<unknown>, word: string): never {
  // What an option says of a negative amount is more than that its value is missing.
  parseFlag(option, /^-[\d.]/.test(word) ? word : '', 0);
  throw usageError(
    `--${option.flag} needs a value`,
    `Write one that begins with a dash as --${option.flag}=${quoteForShell(word)}`,
  );
}

/** Whether a word is several letters behind one dash; only an option with a value may have more than its letter. */
function isBundle(word: string, options: readonly Option<unknown>[]): boolean {
  if (word.startsWith('--') || word.length <= 2) return false;
  const option = options.find(({ alias }) => alias === word[1]);
  return option?.takesValue !== true || /^[\w-]/.test(word.slice(2));
}

function refuseSecrets(unknown: readonly string[]): void {
  const secret = unknown.find((name) => SECRET_FLAG.test(name.replaceAll('_', '-')));
  if (secret === undefined) return;
  throw usageError(
    `${writeFlag(secret)} is refused: a key on the command line can be read by others and stays in the history`,
    'Put it into the environment (export ANALYTICS_API_KEY=...) or into a file that the config names as ' +
      '${file:/run/secrets/analytics_api_key}. If this key is real, revoke it.',
  );
}

async function checkCommand({ words, chosen, commands }: ArgumentsToCheck): Promise<void> {
  const [word] = words;
  if (chosen !== undefined || word === undefined) return;
  const names = commands.map((command) => command.name);
  const members = names.filter((name) => name.startsWith(`${word} `));
  if (members.length > 0) {
    const [, second] = words;
    throw usageError(
      second === undefined ? `${word} needs a command` : `unknown command: ${word} ${second}`,
      `Use: ${members.map((name) => `sluice ${name}`).join(' | ')}`,
    );
  }
  const nearest = await suggestName(word, names);
  throw usageError(
    `unknown command: ${word}`,
    nearest === undefined ? `Commands: ${names.join(', ')}` : `Did you mean sluice ${nearest}?`,
  );
}

async function unknownOption(word: string, known: readonly string[], chosen: ChosenCommand | undefined) {
  const longNames = known.filter((name) => name.length > 1);
  const nearest = await suggestName(word.replace(/^--?/, ''), longNames);
  const help =
    /\s/.test(word) && chosen?.command.argument !== undefined
      ? `A text that begins with dashes comes after --: sluice ${chosen.name} -- "…"`
      : `See sluice ${chosen === undefined ? '' : `${chosen.name} `}--help.`;
  // A long word behind one dash may be a key.
  const isShown = word.startsWith('--') || word.length <= 5 || nearest !== undefined;
  return usageError(
    `unknown option: ${isShown ? word : word.slice(0, 2)}`,
    nearest === undefined ? help : `Did you mean --${nearest}? ${help}`,
  );
}

// yargs silently reads `--force=yes` as false.
function checkBoolean(flag: string, argv: readonly string[]): void {
  const wrong = argv.find((word) => word.startsWith(`--${flag}=`) && !/=(true|false)$/.test(word));
  if (wrong === undefined) return;
  throw usageError(`--${flag} only takes the values true and false`, `For example: --${flag}`);
}

function checkWords({ words, chosen }: ArgumentsToCheck): void {
  if (chosen === undefined) return;
  const rest = words.slice(chosen.name.split(' ').length);
  const { name, command } = chosen;
  const { argument, examples } = command;
  const example = `For example: ${examples[0]?.[0] ?? `sluice ${name}`}`;
  if (argument?.required === true && (rest[0] ?? '').trim() === '') {
    throw usageError(`${name} needs ${argument.summary}`, example);
  }
  const { asWords, asOption } = takesStreams(command);
  const surplus = rest[argument === undefined ? 0 : 1];
  if (surplus === undefined || asWords || asOption) return;
  const toOneWord =
    argument?.isList === true ? 'separate several by commas' : 'put a text with spaces in quotes';
  const cause = argument === undefined ? '' : `; ${toOneWord}`;
  throw usageError(`${name} does not take ${JSON.stringify(surplus)}${cause}`, example);
}

function writeFlag(name: string): string {
  return name.length === 1 ? `-${name}` : `--${name}`;
}
