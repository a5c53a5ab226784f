import type { Command } from '../frame/command.ts';
import type { RawFlags } from '../options/resolve-values.ts';
import { usageError } from '../options/usage-error.ts';

/** How a command takes stream names: as words, or by its option. Each command also accepts the other form. */
export function takesStreams({ argument, options }: Pick<Command, 'argument' | 'options'>): {
  readonly asWords: boolean;
  readonly asOption: boolean;
} {
  return {
    asWords: argument?.name === 'streams',
    asOption: argument === undefined && options.some(({ flag }) => flag === 'streams'),
  };
}

/** What a command line gave a command. */
export interface GivenWords {
  readonly flags: RawFlags;
  /** The words after the command's name. */
  readonly words: readonly string[];
}

/** Converts stream names to the form that the command reads. Throws if both forms name different streams. */
export function nameStreams(
  command: Command,
  { flags, words }: GivenWords,
): { readonly flags: RawFlags; readonly argument: string | undefined } {
  const { asWords, asOption } = takesStreams(command);
  if (!asWords && !asOption) return { flags, argument: words[0] };
  const { streams: option, ...others } = flags;
  const named = words.length === 0 ? undefined : words.join(',');
  if (named !== undefined && option !== undefined && toNames(named) !== toNames(option))
    throw usageError(
      `streams are named twice: ${named} as words, ${String(option)} by --streams`,
      `Give one of the two, e.g. --streams ${named}.`,
    );
  const streams = option ?? named;
  if (asWords) return { flags: others, argument: streams === undefined ? undefined : String(streams) };
  return { flags: streams === undefined ? others : { ...others, streams }, argument: undefined };
}

function toNames(list: unknown): string {
  const names = String(list).split(',');
  return [...new Set(names.map((name) => name.trim()))].toSorted().join(',');
}
