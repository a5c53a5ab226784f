import { pathKey, type ConfigPath } from './config-path.ts';

/** Settings whose value is a secret by definition. */
export const secretPaths = [
  ['source', 'apiKey'],
  ['source', 'bearerToken'],
  ['defaults', 'hashKey'],
] as const satisfies readonly ConfigPath[];

/** Settings that commands without a request can do without when their variable or file is missing. */
export const optionalPaths: readonly ConfigPath[] = [
  ...secretPaths,
  ...['onFailure', 'onSuccess', 'onDrift', 'onSchemaChange', 'onKeyExpiry'].map((name) => ['notify', name]),
];

const secretKeys = new Set(secretPaths.map(pathKey));

/** Whether the setting at a path is a secret. */
export function isSecretPath(path: ConfigPath): boolean {
  return secretKeys.has(pathKey(path));
}
