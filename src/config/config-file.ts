import path from 'node:path';
import { ConfigError } from '../model/errors.ts';
import type { ConfigPath } from './config-path.ts';
import { type ParsedYaml, parseYaml } from './parse-yaml.ts';
import { buildConfigError, type ProblemSource } from './problem.ts';
import { type FileRole, readText } from './read-text-file.ts';

/** A config as it was written: its placeholders are not replaced, and nothing of it is checked. */
export interface ConfigFile extends ProblemSource {
  readonly value: Readonly<Record<string, unknown>>;
  /** Absolute path of the file; undefined when the library was given an object. */
  readonly path: string | undefined;
  /** Absolute folder that relative paths of the config start from. */
  readonly baseDir: string;
  /** A number's text as written, e.g. `007`. */
  readonly numberText: (path: ConfigPath) => string | undefined;
}

/** What a file of YAML is for, and what it must hold. */
export interface YamlRole extends FileRole {
  readonly content: string;
  /** What to do where it holds anything else. */
  readonly ifOther: string;
}

/** Reads a YAML file that holds a map; throws a ConfigError for one that is missing or cannot be parsed. */
export function readConfigFile(file: string, role?: YamlRole): ConfigFile {
  const fileName = path.normalize(file);
  const filePath = path.resolve(file);
  const { value, locate, numberText, problems } = parseOnce(readText(filePath, fileName, role));
  if (problems.length > 0) throw buildConfigError(problems, { fileName, locate });
  const baseDir = path.dirname(filePath);
  return { fileName, locate, numberText, value: assertMap(value, fileName, role), path: filePath, baseDir };
}

/** The text that was parsed last: a command looks for accounts first, and then reads the settings of the same file. */
let last: { readonly text: string; readonly parsed: ParsedYaml } | undefined;

function parseOnce(text: string): ParsedYaml {
  if (last?.text !== text) last = { text, parsed: parseYaml(text) };
  return last.parsed;
}

/** A config given as an object; what is not a map is left to the check of its values. */
export function wrapConfig(input: unknown, baseDir: string = process.cwd()): ConfigFile {
  return {
    fileName: undefined,
    locate: () => undefined,
    numberText: () => undefined,
    value: input as ConfigFile['value'],
    path: undefined,
    baseDir: path.resolve(baseDir),
  };
}

function assertMap(value: unknown, fileName: string, role: YamlRole | undefined): ConfigFile['value'] {
  if (isMap(value)) return value;
  const what = value === null ? 'is empty' : `holds ${Array.isArray(value) ? 'a list' : 'a single value'}`;
  const { title = 'config file', content = 'a map that starts with source:' } = role ?? {};
  throw new ConfigError(`${title} ${fileName} ${what}; it must be ${content}`, {
    code: 'config_invalid',
    hint: role?.ifOther ?? 'Run `sluice init` in an empty folder to see a complete file.',
    context: { path: fileName },
  });
}

/** Whether a value of a config is a map. */
export function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
