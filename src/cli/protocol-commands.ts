import type { CommandEntry } from './commands.ts';
import type { CliContext } from './frame/context.ts';
import { nameTwin } from './options/option.ts';
import type { RawFlags } from './options/resolve-values.ts';
import { usageError } from './options/usage-error.ts';

/** Whether a name, or the first word of one, is that of commands that speak a protocol on stdout. */
export function speaksProtocol(name: string | undefined, available: readonly CommandEntry[]): boolean {
  return available.some(
    (entry) => entry.speaksProtocol === true && (entry.name === name || entry.name.split(' ')[0] === name),
  );
}

/**
 * The world of a command that speaks a protocol: SLUICE_JSON is for the commands that print a result, so it has no
 * effect on this one, whatever its value is. Throws a usage error for `--json`, which asks for what cannot be.
 */
export function withoutJson(name: string, flags: RawFlags, context: CliContext): CliContext {
  if (flags['json'] === true)
    throw usageError(
      `sluice ${name} speaks a protocol on stdout, so it has no --json`,
      'Leave out --json. Nothing was requested.',
    );
  const env = Object.entries(context.env).filter(([variable]) => variable !== nameTwin('json'));
  return { ...context, env: Object.fromEntries(env) };
}
