import { parseArgs } from 'node:util';

/** What is to be measured. */
export interface Request {
  readonly names: readonly string[];
  readonly size: number | undefined;
  /** Put the findings into the docs. */
  readonly write: boolean;
  /** Compare ratios with those in the docs. */
  readonly check: boolean;
}

/** Reads `[part|all] [size] [--write] [--check]`; a string says what is wrong with it. */
export function readArguments(args: readonly string[], known: readonly string[]): Request | string {
  const usage = `Usage: npm run bench -- [${['all', ...known].join('|')}] [size] [--write | --check]`;
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { write: { type: 'boolean' }, check: { type: 'boolean' } },
      allowPositionals: true,
    });
    const [name = 'all', sizeText, ...rest] = positionals;
    if (rest.length > 0 || (name !== 'all' && !known.includes(name)))
      return `There is no part ${[name, ...rest].join(' ')}.\n${usage}`;
    if (sizeText !== undefined && !/^[1-9]\d{0,8}$/.test(sizeText))
      return `A size is a whole number from 1: ${sizeText}\n${usage}`;
    // The parts count different things.
    if (name === 'all' && sizeText !== undefined) return `A size needs a part.\n${usage}`;
    const { write = false, check = false } = values;
    if (check && (write || sizeText !== undefined))
      return `--check compares with the page: it has no size, and does not write.\n${usage}`;
    const size = sizeText === undefined ? undefined : Number(sizeText);
    return { names: name === 'all' ? known : [name], size, write, check };
  } catch (error) {
    return `${error instanceof Error ? error.message : String(error)}\n${usage}`;
  }
}
