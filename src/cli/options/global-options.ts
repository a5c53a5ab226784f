import { choiceOption, flagOption, textOption } from './option-kinds.ts';
import type { Option } from './option.ts';

const group = 'Global options:';

/** Levels of `--log-level`, from the quietest. */
export const logLevels = ['silent', 'error', 'warn', 'info', 'debug', 'trace'] as const;
export type LogLevel = (typeof logLevels)[number];

/** Options every command takes. */
export const globalOptions = {
  config: textOption({
    flag: 'config',
    valueName: 'file',
    alias: 'c',
    summary: 'Config file (default ./sluice.yaml)',
    group,
    example: './sluice.yaml',
  }),
  json: flagOption({ flag: 'json', summary: 'Print one JSON object on stdout', group }),
  logLevel: choiceOption({
    flag: 'log-level',
    valueName: 'level',
    summary: 'silent, error, warn, info (default), debug or trace',
    group,
    choices: ['info', 'silent', 'error', 'warn', 'debug', 'trace'],
  }),
  logFormat: choiceOption({
    flag: 'log-format',
    valueName: 'format',
    summary: 'pretty (default) or json',
    group,
    choices: ['pretty', 'json'],
  }),
  noProgress: flagOption({
    flag: 'no-progress',
    summary: 'No progress display and no page lines',
    group,
  }),
} as const satisfies Readonly<Record<string, Option<unknown>>>;
