import type { Connector } from '../model/connector.ts';
import type { Credentials } from '../model/settings.ts';
import { formatPath, pathKey } from './config-path.ts';
import type { ConfigLeaf } from './interpolate.ts';
import type { LoadedConfig } from './load-config.ts';
import { buildConfigError } from './problem.ts';
import { ACCOUNT_KEY_FILE, secretPaths } from './secret-paths.ts';

type SecretPath = (typeof secretPaths)[number];

/** The secret to send, checked before any request so that a bad one costs none. */
export function readCredentials(loaded: LoadedConfig, connector: Connector): Credentials {
  const { apiKey, bearerToken } = loaded.config.source;
  if (apiKey !== undefined && bearerToken !== undefined)
    throw buildConfigError(
      [{ path: ['source', 'bearerToken'], message: 'apiKey is given too; keep exactly one of the two' }],
      loaded,
    );
  if (bearerToken !== undefined)
    return { kind: 'bearer', secret: checkSecret(bearerToken, ['source', 'bearerToken'], loaded, connector) };
  return { kind: 'api-key', secret: checkSecret(apiKey ?? '', ['source', 'apiKey'], loaded, connector) };
}

/** Warnings about where the secret is kept. */
export function findCredentialWarnings(loaded: LoadedConfig, platform: NodeJS.Platform): readonly string[] {
  return secretPaths.flatMap((path) => {
    const leaf = findLeaf(loaded, path);
    if (leaf?.value === undefined || loaded.path === undefined) return [];
    const files = leaf.placeholders.filter((origin) => origin.kind === 'file');
    const written = !leaf.placeholders.some((origin) => origin.kind !== 'default');
    return [
      ...(written
        ? [`${formatPath(path)} is written in ${loaded.fileName}; ${advisePlace(loaded, path)}`]
        : []),
      ...files.flatMap(({ path: file, mode }) =>
        mode === undefined || platform === 'win32' || isContainerSecret(file) || (mode & 0o077) === 0
          ? []
          : [`the key file ${file} can be read by others (mode 0${mode.toString(8)}); run chmod 600 on it`],
      ),
    ];
  });
}

function advisePlace({ account }: LoadedConfig, path: SecretPath): string {
  if (path[1] === 'hashKey')
    return 'write ${SLUICE_HASH_KEY} there and keep the key in the environment, or ${file:path}';
  return account === undefined
    ? 'write ${ANALYTICS_API_KEY} there and keep the key in the environment, or ${file:path}'
    : `write \${file:${ACCOUNT_KEY_FILE}} there and keep the key of each account in a file of its own`;
}

// Container runtimes mount secrets there as 0444 by default, in a file system only the container sees;
// systemd shows 0440 for a unit's credential, which only the unit's user may read.
function isContainerSecret(file: string): boolean {
  return /^\/(?:var\/)?run\/(?:secrets|credentials)\//.test(file);
}

function findLeaf(loaded: LoadedConfig, path: SecretPath): ConfigLeaf | undefined {
  return loaded.leaves.find((leaf) => pathKey(leaf.path) === pathKey(path));
}

function checkSecret(text: string, path: SecretPath, loaded: LoadedConfig, connector: Connector): string {
  // A file or a shell's $(cat …) may leave the newline that ends the file's last line.
  const secret = text.replace(/\r?\n$/, '');
  const flaw = findFlaw(secret);
  if (flaw === undefined) return secret;
  const leaf = findLeaf(loaded, path);
  const missing = secret.trim() === '';
  throw buildConfigError(
    [
      {
        path,
        message: `${describeOrigin(leaf)}${flaw}`,
        code: missing ? 'key_missing' : 'config_invalid',
        hint: isNameInFile(secret, leaf)
          ? `Put braces around the name: ${formatPath(path)}: \${ANALYTICS_API_KEY}.`
          : missing
            ? `Create a key in ${connector.auth.whereKeysAreMade}, then ${adviseKey(loaded.account, leaf)}.`
            : `Copy the key again without anything around it; if it is lost, create a new one in ${connector.auth.whereKeysAreMade}.`,
      },
    ],
    loaded,
  );
}

/** Where to put a key: where the config looks for it, if it says so. */
function adviseKey(account: string | undefined, leaf: ConfigLeaf | undefined): string {
  if (account !== undefined)
    return `write it into a file for ${account} alone and set apiKey: \${file:${ACCOUNT_KEY_FILE}}`;
  const origin = findOrigin(leaf);
  if (origin?.kind === 'environment') return `export ${origin.name}=…`;
  if (origin?.kind === 'file') return `write it into ${origin.path}`;
  return 'export ANALYTICS_API_KEY=… and set apiKey: ${ANALYTICS_API_KEY}';
}

function describeOrigin(leaf: ConfigLeaf | undefined): string {
  const origin = findOrigin(leaf);
  if (origin?.kind === 'environment') return `the environment variable ${origin.name} `;
  return origin?.kind === 'file' ? `the key file ${origin.path} ` : 'the key ';
}

/** Where the value comes from; undefined for one that the config has itself. */
function findOrigin(leaf: ConfigLeaf | undefined) {
  return leaf?.placeholders.find(({ kind }) => kind !== 'default');
}

const VARIABLE_NAME = /^\$(?:\{.*\}|[A-Za-z_]\w*)$/;

// `$ANALYTICS_API_KEY` is shell syntax, not a placeholder here.
function isNameInFile(secret: string, leaf: ConfigLeaf | undefined): boolean {
  return VARIABLE_NAME.test(secret) && !secret.startsWith('${') && leaf?.placeholders.length === 0;
}

/** What is wrong with a secret, without quoting any of it. */
function findFlaw(secret: string): string | undefined {
  if (secret === '') return 'is missing or empty';
  if (secret.trim() === '') return 'contains only white space';
  if (VARIABLE_NAME.test(secret)) return 'is the name of a variable, not its value';
  if (secret.startsWith('\uFEFF')) return 'starts with a byte order mark; save the file without one';
  if (/\r(?!\n)/.test(secret)) return 'contains a carriage return; save the file with Unix line ends';
  if (/[\r\n]/.test(secret)) return 'contains a line break; a key is one line';
  if (/\s/u.test(secret)) return 'contains white space';
  if (/["'`]/.test(secret)) return 'contains quotes; docker --env-file and some others keep them';
  // The header is ASCII; anything else was not copied from the dashboard.
  if (!/^[\x21-\x7e]+$/.test(secret)) return 'contains characters that are not plain ASCII';
  return undefined;
}
