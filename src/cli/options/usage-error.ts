import { ConfigError } from '../../model/errors.ts';

/** The command line, or a variable that stands in for one of its flags, is wrong: exit code 2. */
export function usageError(message: string, hint: string): ConfigError {
  return new ConfigError(message, { code: 'usage_invalid', hint });
}
