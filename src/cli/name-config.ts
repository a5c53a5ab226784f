import type { CliContext } from './frame/context.ts';
import { globalOptions } from './options/global-options.ts';
import { listOptionWords } from './options/option-words.ts';
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
  const file = findConfig(argv);
  if (file === undefined) return context;
  const { output } = context;
  const name = (text: string) => insertConfig(text, file, commands);
  return {
    ...context,
    output: {
      ...output,
      mask: (text) => name(output.mask(text)),
      writeNote: (line) => output.writeNote(name(line)),
    },
  };
}

function findConfig(argv: readonly string[]): string | undefined {
  const { flag, alias } = globalOptions.config;
  const words = listOptionWords(argv);
  const at = words.findLastIndex((word) => [`--${flag}`, `-${alias}`].includes(word.split('=')[0] ?? ''));
  const word = words[at];
  if (word === undefined) return undefined;
  return word.includes('=') ? word.slice(word.indexOf('=') + 1) : words[at + 1];
}

/** Adds `-c FILE` to the commands in a text, also of JSON, that name no config yet. */
export function insertConfig(text: string, file: string, commands: readonly string[]): string {
  const quoted = quoteForShell(file);
  // Such a name would have to be escaped once more in JSON.
  if (/["\\\n]/.test(quoted)) return text;
  const words = new Set(commands.flatMap((name) => name.split(' ')[0] ?? []));
  const known = [...words].filter((word) => !WITHOUT_CONFIG.includes(word)).join('|');
  const command = new RegExp(
    `\\bsluice(?=\\s+(?:${known})\\b(?! ?(?:--help|-c\\b))(?![^\`\\n.;]*\\s(?:-c|--config)\\b))`,
    'g',
  );
  return text.replaceAll(command, () => `sluice -c ${quoted}`);
}
