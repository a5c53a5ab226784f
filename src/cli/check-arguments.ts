import type { Command } from './frame/command.ts';
import type { CommandEntry } from './commands.ts';
import { globalOptions } from './options/global-options.ts';
import { takesStreams } from './steps/named-streams.ts';
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

/** Throws a usage error for an unknown command, option or word, and names the nearest known one. */
export async function checkArguments(given: ArgumentsToCheck): Promise<void> {
  const options = [...Object.values(globalOptions), ...(given.chosen?.command.options ?? [])];
  const named = given.chosen !== undefined && takesStreams(given.chosen.command).asWords ? ['streams'] : [];
  const flags = options.flatMap(({ flag, alias = flag }) => [flag, alias]);
  const known = new Set([...ALWAYS_KNOWN, ...flags, ...named]);
  const unknown = Object.keys(given.flags).filter(
    (name) => name !== '_' && name !== '$0' && !known.has(name),
  );
  refuseSecrets(unknown);
  await checkCommand(given);
  const first = unknown[0];
  if (first !== undefined) throw await unknownOption(first, [...known], given.chosen);
  for (const { flag, takesValue } of options) if (!takesValue) checkBoolean(flag, given.argv);
  checkWords(given);
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

async function unknownOption(name: string, known: readonly string[], chosen: ChosenCommand | undefined) {
  const nearest = await suggestName(
    name,
    known.filter((one) => one.length > 1),
  );
  const help = `See sluice ${chosen === undefined ? '' : `${chosen.name} `}--help.`;
  return usageError(
    `unknown option: ${writeFlag(name)}`,
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
