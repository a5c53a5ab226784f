import yargs from 'yargs';
import type { Argv } from 'yargs';
import type { Command } from './frame/command.ts';
import { type CommandEntry, groupSummaries } from './commands.ts';
import type { ChosenCommand } from './check-arguments.ts';
import { checkArguments, checkDashes } from './check-arguments.ts';
import type { ShownOption } from './options/describe-options.ts';
import { describeOptions } from './options/describe-options.ts';
import { globalOptions } from './options/global-options.ts';
import { nameStreams, takesStreams } from './steps/named-streams.ts';
import type { Option } from './options/option.ts';
import { asksForHelp, findCommandAt, isDashedText, joinDashes } from './options/option-words.ts';
import type { RawFlags } from './options/resolve-values.ts';

/** What a command line asks for. */
export type ParsedCommandLine =
  | { readonly kind: 'help'; readonly text: string; readonly asked: boolean }
  | { readonly kind: 'version' }
  | {
      readonly kind: 'run';
      readonly name: string;
      readonly command: Command;
      readonly flags: RawFlags;
      readonly argument: string | undefined;
    };

/** The greatest width of help. */
export const HELP_COLUMNS = 80;

/**
 * Reads a command line without acting on it; throws a usage error for what it does not understand.
 *
 * @param onCommand told the name of the command, also of one whose options are wrong
 */
export async function parseCommandLine(
  line: readonly string[],
  commands: readonly CommandEntry[],
  terminalColumns: number = HELP_COLUMNS,
  onCommand?: (name: string) => void,
): Promise<ParsedCommandLine> {
  const argv = joinDashes(readHelpCommand(line, commands));
  let chosen: ChosenCommand | undefined;
  const columns = Math.min(terminalColumns, HELP_COLUMNS);
  const parser = buildParser(commands, {
    columns,
    isHelpAsked: asksForHelp(argv),
    choose: (command) => {
      chosen = command;
      onCommand?.(command.name);
    },
  });
  let help = '';
  const undashed = argv.map((word) => (isDashedText(word) ? ` ${word}` : word));
  const parsed = await parser.parseAsync(undashed, {}, (_error: unknown, _parsed: unknown, text: string) => {
    help = text;
  });

  const words = parsed._.map((word) => String(word).replace(/^ (?=--)/, ''));
  const given = { argv, words, flags: parsed, chosen, commands };
  await checkDashes(given);
  if (asksForHelp(argv)) return { kind: 'help', text: tidyHelp(help), asked: true };
  if (parsed['version'] === true) return { kind: 'version' };
  await checkArguments(given);
  if (chosen === undefined) return { kind: 'help', text: tidyHelp(await parser.getHelp()), asked: false };
  const rest = words.slice(chosen.name.split(' ').length);
  return {
    kind: 'run',
    ...chosen,
    ...nameStreams(chosen.command, { flags: readFlags(parsed, chosen.command), words: rest }),
  };
}

/** `sluice help sync` is `sluice sync --help`; an unknown command is rejected later. */
function readHelpCommand(argv: readonly string[], commands: readonly CommandEntry[]): readonly string[] {
  const at = findCommandAt(argv);
  if (argv[at] !== 'help') return argv;
  const rest = argv.filter((_, i) => i !== at);
  const [first] = rest.slice(at).filter((word) => !word.startsWith('-'));
  const isKnown = first === undefined || commands.some(({ name }) => name.split(' ')[0] === first);
  return isKnown ? [...rest, '--help'] : rest;
}

/** How commands are shown, and what is told of the chosen one. */
interface CommandUse {
  /** The width of help. */
  readonly columns: number;
  readonly isHelpAsked: boolean;
  readonly choose: (command: ChosenCommand) => void;
}

function buildParser(commands: readonly CommandEntry[], use: CommandUse): Argv {
  const { columns } = use;
  const parser = hideTypes(yargs([]))
    .scriptName('sluice')
    .parserConfiguration({
      // `--no-progress` is a separate option, and names have only one spelling.
      'boolean-negation': false,
      'camel-case-expansion': false,
      'dot-notation': false,
      'parse-numbers': false,
      'parse-positional-numbers': false,
    })
    .detectLocale(false)
    .wrap(columns)
    .version(false)
    .exitProcess(false)
    .showHelpOnFail(false)
    .usage(`sluice <command> [options]\n\n${ABOUT}`)
    .option('version', { type: 'boolean', hidden: true })
    .help('help')
    .alias('help', 'h')
    .hide('help')
    .epilogue(`${describeOptions(GLOBAL, columns)}\n\n${EPILOGUE}`);
  addOptions(parser, Object.values(globalOptions));
  addCommands(parser, commands, use);
  return parser;
}

const group = 'Global options:';
const GLOBAL: readonly ShownOption[] = [
  { flag: 'version', summary: 'Show the version', group },
  { flag: 'help', alias: 'h', summary: 'Show help; for one command: sluice help <command>', group },
  ...Object.values(globalOptions),
];

// Known to yargs 18, not to its types yet.
function hideTypes(parser: Argv): Argv {
  const configurable = parser as Argv & { usageConfiguration(configuration: object): unknown };
  configurable.usageConfiguration({ 'hide-types': true });
  return parser;
}

const ABOUT =
  'Syncs a rate-limited, read-only analytics API into a warehouse you own: a\n' +
  'DuckDB file, a Parquet lake, a DuckLake or Iceberg on object stores, or\n' +
  'Postgres. Inside the quota, provably complete, never locking a reader out.';

const EPILOGUE = `Every option has a twin in the environment: --max-wait is SLUICE_MAX_WAIT.

Examples:
  sluice demo      See it work: no key, no network
  sluice init      Write a config file
  sluice sync      Sync once`;

function addCommands(parser: Argv, commands: readonly CommandEntry[], use: CommandUse): void {
  const groups = new Map<string, CommandEntry[]>();
  for (const command of commands) {
    const [first = '', second] = command.name.split(' ');
    if (second === undefined) addCommand(parser, first, command, use);
    else groups.set(first, [...(groups.get(first) ?? []), command]);
  }
  for (const [name, members] of groups) {
    const list = groupSummaries[name] ?? members.map((member) => member.summary).join('; ');
    const examples = members.map((member) => `  sluice ${member.name}`);
    parser.command(name, list, (group) => {
      group
        .usage(`sluice ${name} <command> [options]`)
        .epilogue([describeOptions(GLOBAL, use.columns), '', 'Examples:', ...examples].join('\n'));
      for (const member of members) addCommand(group, member.name.split(' ')[1] ?? '', member, use);
      return group;
    });
  }
}

function addCommand(
  parser: Argv,
  word: string,
  { name, summary, load }: CommandEntry,
  { columns, isHelpAsked, choose }: CommandUse,
): void {
  const builder = async (options: Argv) => {
    const command = await load();
    choose({ name, command });
    // yargs writes the help of a command that it runs, be it shown or not.
    if (isHelpAsked) describeCommand(options, name, command, columns);
    addOptions(options, command.options);
    if (takesStreams(command).asWords) options.option('streams', { type: 'string', hidden: true });
    return options;
  };
  // Its types do not allow an asynchronous builder.
  parser.command(word, summary, builder as unknown as (options: Argv) => Argv);
}

function describeCommand(options: Argv, name: string, command: Command, columns: number): void {
  const { argument, description } = command;
  const word = argument?.name ?? (takesStreams(command).asOption ? 'streams' : undefined);
  const shown = word === undefined ? '' : argument?.required === true ? ` ${word}` : ` [${word}]`;
  options
    .usage(`sluice ${name}${shown} [options]\n\n${description}`)
    .epilogue(`${describeOptions([...command.options, ...GLOBAL], columns)}\n\n${describeExamples(command)}`);
}

function addOptions(parser: Argv, options: readonly Option<unknown>[]): void {
  for (const option of options) {
    parser.option(option.flag, {
      type: option.takesValue ? 'string' : 'boolean',
      // yargs cannot name a value: `describeOptions` writes them instead.
      hidden: true,
      ...(option.alias !== undefined && { alias: option.alias }),
    });
  }
}

// yargs puts examples into two narrow columns; on lines of their own they can be copied.
function describeExamples(command: Command): string {
  const lines = command.examples.map(([commandLine, does]) => `  ${commandLine}\n      ${does}`);
  return ['Examples:', ...lines].join('\n');
}

function tidyHelp(text: string): string {
  const lines = text.split('\n').map((line) => line.trimEnd());
  return `${lines.join('\n').trim()}\n`;
}

function readFlags(parsed: Readonly<Record<string, unknown>>, { options }: Command): RawFlags {
  // Streams may also be words, where they are an option that help does not show.
  const lists = ['streams', ...options.flatMap(({ flag, isList }) => (isList === true ? flag : []))];
  const flags = Object.entries(parsed).filter(([name]) => name !== '_' && name !== '$0');
  return Object.fromEntries(
    flags.map(([name, value]) => {
      const given = Array.isArray(value) && !lists.includes(name) ? (value.at(-1) as unknown) : value;
      return [name, typeof given === 'boolean' ? given : String(given)];
    }),
  );
}
