import { statSync } from 'node:fs';
import path from 'node:path';
import { findNearestName } from '../text/suggest-name.ts';
import { escapeText } from './config-path.ts';
import { NOT_A_FILE, readFileAtMost } from '../files/read-at-most.ts';
import { decodeUtf8, fileErrorCode } from './read-text-file.ts';
import { ACCOUNT_KEY_FILE } from './secret-paths.ts';

/** Where the text of a placeholder came from. */
export type PlaceholderOrigin =
  | { readonly kind: 'environment'; readonly name: string }
  /** `mode`: permission bits, undefined for a file that cannot be read. */
  | { readonly kind: 'file'; readonly path: string; readonly mode: number | undefined }
  | { readonly kind: 'default' }
  | { readonly kind: 'account' };

/** A placeholder without a value, and why. */
export interface MissingValue {
  readonly problem: string;
  readonly hint: string;
  /** Undefined if the syntax is wrong. */
  readonly wanted: PlaceholderOrigin | undefined;
}

/** A text whose placeholders are replaced. */
export interface ExpandedText {
  readonly text: string;
  readonly origins: readonly PlaceholderOrigin[];
  readonly missing: readonly MissingValue[];
}

/** Where placeholders may look. */
export interface PlaceholderScope {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Relative `${file:…}` paths start here. */
  readonly baseDir: string;
  /** What `${account}` stands for; undefined in a config without accounts, where it is a variable like others. */
  readonly account?: string | undefined;
}

// As variables are called; another word may be the key itself, which no message shows.
const VARIABLE = /^[A-Z_][A-Z0-9_]*$/;

const MAX_FILE_BYTES = 64 * 1024;

/**
 * Reads the content between `${` and `}`: `NAME`, `NAME:-default` or `file:path`; `expand` replaces the
 * placeholders in a default or a path. For a secret, no default is suggested, because it would put a key into
 * the file.
 */
export function readPlaceholder(
  body: string,
  scope: PlaceholderScope,
  isSecret: boolean,
  expand: (text: string) => ExpandedText,
): ExpandedText {
  const match = /^(?:file:(?<file>.+)|(?<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?<fallback>.*))?)$/s.exec(body);
  const { file, name, fallback } = match?.groups ?? {};
  if (file !== undefined) {
    const named = expand(file);
    if (named.missing.length > 0) return named;
    const read = readPlaceholderFile(path.resolve(scope.baseDir, named.text));
    return { ...read, origins: [...read.origins, ...named.origins] };
  }
  if (name === undefined)
    return fail({
      problem: 'contains a ${ that does not start a placeholder',
      hint: 'Write ${NAME}, ${NAME:-default} or ${file:path}, and $${ for a literal ${.',
      wanted: undefined,
    });
  if (name === 'account' && scope.account !== undefined) return succeed(scope.account, { kind: 'account' });
  const value: unknown = scope.env[name];
  // An empty variable counts as unset for a default, as in a shell.
  if (fallback !== undefined && (typeof value !== 'string' || value === '')) {
    const given = expand(fallback);
    return { ...given, origins: [{ kind: 'default' }, ...given.origins] };
  }
  if (typeof value === 'string') return succeed(value, { kind: 'environment', name });
  if (name === 'account')
    return fail({
      problem: '${account} is the name of an account, and the config has no accounts',
      hint: 'Name them, e.g. accounts: { acme: {} }, or write a name in its place. docs/accounts.md shows how.',
      wanted: { kind: 'environment', name },
    });
  const isAccount = scope.account !== undefined && findNearestName(name.toLowerCase(), ['account'], 0.75);
  if (isSecret && !isAccount && !VARIABLE.test(name))
    return fail({
      problem: 'the environment variable that it names is not set',
      hint: 'Write the name of the variable there, e.g. ${ANALYTICS_API_KEY}, not the key itself, and set the variable.',
      wanted: { kind: 'environment', name: '…' },
    });
  const ownFile = isSecret && scope.account !== undefined ? ACCOUNT_KEY_FILE : 'path';
  return fail({
    problem: `the environment variable ${name} is not set`,
    hint: isAccount
      ? `Did you mean \${account}, the name of the account? If not, set the variable, e.g. export ${name}=….`
      : `Set it, e.g. export ${name}=… (docker run -e ${name}), or write ${isSecret ? '' : `\${${name}:-default} or `}\${file:${ownFile}} instead.`,
    wanted: { kind: 'environment', name },
  });
}

function succeed(text: string, origin: PlaceholderOrigin): ExpandedText {
  return { text, origins: [origin], missing: [] };
}

function fail(missing: MissingValue): ExpandedText {
  return { text: '', origins: [], missing: [missing] };
}

function readPlaceholderFile(file: string): ExpandedText {
  const shown = escapeText(file);
  const refuse = (what: string) =>
    fail({
      problem: `the file ${shown} ${what}`,
      hint: 'Check the path in ${file:…}; a relative path starts at the folder of the config file.',
      wanted: { kind: 'file', path: file, mode: undefined },
    });
  try {
    const bytes = readFileAtMost(file, MAX_FILE_BYTES);
    if (bytes === undefined) return refuse('is larger than 64 KB, too large for a value');
    const text = decodeUtf8(bytes);
    if (text === undefined) return refuse('is not UTF-8 text');
    // Editors and `echo` end a file with a newline that is not part of the value.
    const mode = statSync(file).mode & 0o777;
    return succeed(text.replace(/\r?\n$/, ''), { kind: 'file', path: file, mode });
  } catch (error) {
    const code = fileErrorCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return refuse('does not exist');
    if (code === 'EISDIR') return refuse('is a folder');
    if (code === NOT_A_FILE) return refuse('is a pipe or a device, and a file is needed');
    return refuse(code === 'EACCES' ? 'cannot be read by this user' : `could not be read (${code})`);
  }
}
