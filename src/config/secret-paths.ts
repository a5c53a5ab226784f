import { secretDestinationPaths } from '../model/destination.ts';
import { secretFleetPaths } from '../model/fleet.ts';
import { pathKey, type ConfigPath } from './config-path.ts';

/** Settings whose value is always a secret. */
export const secretPaths = [
  ['source', 'apiKey'],
  ['source', 'bearerToken'],
  ['defaults', 'hashKey'],
] as const satisfies readonly ConfigPath[];

/** Where a config with accounts best reads the key of each from, relative to the config. */
export const ACCOUNT_KEY_FILE = './keys/${account}';

/** Settings whose variable or file may be missing for commands that send no request. */
export const optionalPaths: readonly ConfigPath[] = [
  ...secretPaths,
  ...['onFailure', 'onSuccess', 'onDrift', 'onSchemaChange', 'onKeyExpiry'].map((name) => ['notify', name]),
];

const secretKeys = new Set([...secretPaths, ...secretDestinationPaths, ...secretFleetPaths].map(pathKey));

/** Whether the setting at a path is a secret. */
export function isSecretPath(path: ConfigPath): boolean {
  return secretKeys.has(pathKey(path));
}
