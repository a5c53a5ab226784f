import type { Option } from './option.ts';
import { nameTwin } from './option.ts';
import { quoteForShell } from './quote-for-shell.ts';
import { usageError } from './usage-error.ts';

/** Options by the name a command reads them with. */
export type Options = Readonly<Record<string, Option<unknown>>>;

/** Values of a command's options; undefined where neither the flag nor its twin was given. */
export type OptionValues<O extends Options> = {
  readonly [Name in keyof O]: (O[Name] extends Option<infer T> ? T : never) | undefined;
};

/** What the command line held, by flag, still as text; booleans were given without a value. */
export type RawFlags = Readonly<Record<string, string | boolean | undefined>>;

/** Where values come from: the command line wins over the environment. */
export interface ValueSources {
  readonly flags: RawFlags;
  readonly env: NodeJS.ProcessEnv;
  readonly nowMs: number;
}

/** Reads and checks every option; throws a usage error that names the flag or the variable. */
export function resolveValues<O extends Options>(options: O, sources: ValueSources): OptionValues<O> {
  const values = Object.entries(options).map(([name, option]) => [name, resolveValue(option, sources)]);
  return Object.fromEntries(values) as OptionValues<O>;
}

function resolveValue(option: Option<unknown>, { flags, env, nowMs }: ValueSources): unknown {
  const given = flags[option.flag];
  if (typeof given === 'boolean') return given;
  if (given !== undefined) return parseFlag(option, given, nowMs);
  const twin = nameTwin(option.flag);
  // Compose files and job templates pass empty variables for "not set".
  const inherited = env[twin]?.trim();
  if (inherited === undefined || inherited === '') return undefined;
  const example = `${twin}=${quoteForShell(option.example)}`;
  return parseValue(option, { text: inherited, name: twin, example }, nowMs);
}

/** Reads the value of a flag; throws a usage error for one that the option does not take. */
export function parseFlag(option: Option<unknown>, text: string, nowMs: number): unknown {
  const flag = `--${option.flag}`;
  return parseValue(option, { text, name: flag, example: `${flag} ${quoteForShell(option.example)}` }, nowMs);
}

/** A value as it was given, and what its error says. */
interface GivenValue {
  readonly text: string;
  /** The flag or the variable that it was given with. */
  readonly name: string;
  readonly example: string;
}

function parseValue(option: Option<unknown>, { text, name, example }: GivenValue, nowMs: number) {
  if (text === '') throw usageError(`${name} needs a value`, `For example: ${example}`);
  const parsed = option.parse(text, nowMs);
  if ('value' in parsed) return parsed.value;
  throw usageError(`${name} ${parsed.problem}, not ${JSON.stringify(text)}`, `For example: ${example}`);
}
