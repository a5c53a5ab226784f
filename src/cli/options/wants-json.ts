import { nameTwin } from './option.ts';

/**
 * Whether the result is to be one JSON object. Asked before the command line is understood, because what
 * is wrong with it is told in JSON as well.
 */
export function wantsJson(argv: readonly string[], env: NodeJS.ProcessEnv): boolean {
  const end = argv.indexOf('--');
  const options = end < 0 ? argv : argv.slice(0, end);
  const given = options.findLast((word) => word === '--json' || word.startsWith('--json='));
  if (given !== undefined) return given !== '--json=false';
  return /^(true|1|yes|on)$/i.test(env[nameTwin('json')]?.trim() ?? '');
}
