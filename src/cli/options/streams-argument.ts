import { usageError } from './usage-error.ts';

const NAME = /^[a-z_][a-z0-9_]*$/;

/** Reads the word `[streams]` of a command: names separated by commas; undefined means all of them. */
export function readStreamNames(argument: string | undefined): readonly string[] | undefined {
  if (argument === undefined) return undefined;
  const names = [...new Set(argument.split(',').map((name) => name.trim()))];
  const wrong = names.find((name) => !NAME.test(name));
  if (wrong === undefined) return names;
  throw usageError(
    `${JSON.stringify(wrong)} is not a stream name`,
    'Stream names are separated by commas, e.g. visibility_mentions,prompts_analytics.',
  );
}
