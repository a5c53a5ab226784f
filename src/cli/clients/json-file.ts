import { resolve } from 'node:path';
import { readText } from '../../config/read-text-file.ts';
import { ConfigError } from '../../model/errors.ts';
import type { CliContext } from '../frame/context.ts';

/**
 * Reads a file of JSON that another program passes on the command line. Of members named twice the last one counts:
 * PyAirbyte writes some of its state twice.
 *
 * @param what names it in messages, e.g. `catalog`
 * @returns undefined for an empty file
 * @throws ConfigError (2)
 */
export function readJsonFile({ cwd }: CliContext, what: string, file: string): unknown {
  const text = readText(resolve(cwd, file), file, {
    title: `the ${what} file`,
    ifMissing: 'Check the path. Nothing was requested.',
    ifBytes: 'It must be a text file of JSON, in UTF-8. Check the path. Nothing was requested.',
    isPipeAllowed: true,
  });
  if (text.trim() === '') return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The parser's message quotes the text, which may be a key.
    throw new ConfigError(`the ${what} file ${file} is not JSON`, {
      code: 'config_invalid',
      hint: 'Check it for a missing comma, quote or bracket. Nothing was requested.',
      context: { path: file },
    });
  }
}
