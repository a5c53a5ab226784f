import { nameTwin } from './option.ts';
import { findOptionValue, listOptionWords } from './option-words.ts';

/**
 * Whether the result is to be one JSON object. Decided before the command line is parsed, because its errors
 * are reported in JSON too.
 */
export function wantsJson(argv: readonly string[], env: NodeJS.ProcessEnv): boolean {
  const options = listOptionWords(argv);
  const given = options.findLast((word) => word === '--json' || word.startsWith('--json='));
  if (given !== undefined) return given !== '--json=false';
  return /^(true|1|yes|on)$/i.test(env[nameTwin('json')]?.trim() ?? '');
}

/**
 * Whether log lines are to be JSON; decided as early, because failures before a run are logged that way too.
 */
export function wantsJsonLog(argv: readonly string[], env: NodeJS.ProcessEnv): boolean {
  const given = findOptionValue(argv, ['--log-format']) ?? env[nameTwin('log-format')]?.trim();
  return given === 'json';
}
