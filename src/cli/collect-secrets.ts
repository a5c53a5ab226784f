const SECRET_NAME = /(^|_)(api_?key|hash_?key|token|secret|password|jwt)$/i;
// Shorter values are words that would be masked all over the output.
const LEAST_LENGTH = 8;

/**
 * Environment values that look like keys. No output shows them, not even a crash before the config is read.
 */
export function collectSecrets(env: NodeJS.ProcessEnv): readonly string[] {
  return Object.entries(env).flatMap(([name, value = '']) =>
    SECRET_NAME.test(name) && value.trim().length >= LEAST_LENGTH ? [value.trim()] : [],
  );
}
