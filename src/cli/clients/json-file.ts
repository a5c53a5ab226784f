import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ConfigError } from '../../model/errors.ts';
import type { CliContext } from '../frame/context.ts';

/**
 * Reads a file of JSON that another program passes on the command line.
 *
 * @param what names it in messages, e.g. `catalog`
 * @returns undefined for an empty file
 */
export function readJsonFile({ cwd }: CliContext, what: string, file: string): unknown {
  let text;
  try {
    text = readFileSync(resolve(cwd, file), 'utf8');
  } catch (cause) {
    throw refuse(`the ${what} file ${file} cannot be read: ${(cause as Error).message}`, cause);
  }
  if (text.trim() === '') return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The parser's message quotes the text, which may be a key.
    throw refuse(`the ${what} file ${file} is not JSON`, undefined);
  }
}

function refuse(message: string, cause: unknown): ConfigError {
  return new ConfigError(message, {
    code: 'usage_invalid',
    hint: 'Nothing was requested.',
    ...(cause !== undefined && { cause }),
  });
}
