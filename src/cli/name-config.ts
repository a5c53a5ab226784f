import type { CliContext } from './frame/context.ts';
import { globalOptions } from './options/global-options.ts';
import { asksForHelp, findOptionValue } from './options/option-words.ts';
import { quoteForShell } from './options/quote-for-shell.ts';

// These write a config, or need none.
const WITHOUT_CONFIG: readonly string[] = ['demo', 'init', 'simulate', 'help'];

/**
 * Names the config of this command line in every command that is printed: copied as it stands, it would work on
 * `./sluice.yaml`.
 *
 * @param commands names of all commands
 */
export function nameConfigIn(
  context: CliContext,
  argv: readonly string[],
  commands: readonly string[],
): CliContext {
  const { flag, alias } = globalOptions.config;
  const file = findOptionValue(argv, [`--${flag}`, `-${alias}`]);
  if (file === undefined || asksForHelp(argv)) return context;
  const { output } = context;
  const name = insertConfig(file, commands);
  return {
    ...context,
    output: {
      ...output,
      mask: (text) => name(output.mask(text)),
      writeNote: (line) => output.writeNote(name(line)),
    },
  };
}

/** Adds `-c FILE` to the commands in a text, also of JSON, that name no config yet. */
export function insertConfig(file: string, commands: readonly string[]): (text: string) => string {
  const quoted = quoteForShell(file);
  // Such a name would have to be escaped once more in JSON.
  if (/["\\\n]/.test(quoted)) return (text) => text;
  const words = new Set(commands.flatMap((name) => name.split(' ')[0] ?? []));
  const known = [...words].filter((word) => !WITHOUT_CONFIG.includes(word)).join('|');
  const command = new RegExp(
    `\\bsluice(?=\\s+(?:${known})\\b(?! ?(?:--help|-c\\b))(?![^\`\\n.;]*\\s(?:-c|--config)\\b))`,
    'g',
  );
  return (text) => text.replaceAll(command, () => `sluice -c ${quoted}`);
}
