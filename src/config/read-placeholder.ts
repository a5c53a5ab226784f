import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { escapeText } from './config-path.ts';
import { decodeUtf8, fileErrorCode } from './read-config-file.ts';

/** Where the text of a placeholder came from. */
export type PlaceholderOrigin =
  | { readonly kind: 'environment'; readonly name: string }
  /** `mode`: permission bits, known for plain files only. */
  | { readonly kind: 'file'; readonly path: string; readonly mode: number | undefined }
  | { readonly kind: 'default' };

/** What `${…}` stands for, or why that cannot be said. */
export type PlaceholderValue =
  | { readonly text: string; readonly origin: PlaceholderOrigin }
  | { readonly problem: string; readonly hint: string; readonly wanted: PlaceholderOrigin | undefined };

/** Where placeholders may look. */
export interface PlaceholderScope {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Relative `${file:…}` paths start here. */
  readonly baseDir: string;
}

const MAX_FILE_BYTES = 64 * 1024;

/**
 * Reads what stands between `${` and `}`: `NAME`, `NAME:-default` or `file:path`. For a secret no default is
 * suggested: it would be a key in the file.
 */
export function readPlaceholder(body: string, scope: PlaceholderScope, isSecret: boolean): PlaceholderValue {
  const match = /^(?:file:(?<file>.+)|(?<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?<fallback>.*))?)$/s.exec(body);
  const { file, name, fallback } = match?.groups ?? {};
  if (file !== undefined) return readPlaceholderFile(path.resolve(scope.baseDir, file));
  if (name === undefined)
    return {
      problem: 'holds a ${ that starts no placeholder',
      hint: 'Write ${NAME}, ${NAME:-default} or ${file:path}, and $${ for a ${ that is meant as text.',
      wanted: undefined,
    };
  const value: unknown = scope.env[name];
  // An empty variable counts as unset for a default, as in a shell.
  if (fallback !== undefined && (typeof value !== 'string' || value === ''))
    return { text: fallback, origin: { kind: 'default' } };
  if (typeof value === 'string') return { text: value, origin: { kind: 'environment', name } };
  return {
    problem: `the environment variable ${name} is not set`,
    hint: `Set it, e.g. export ${name}=… (docker run -e ${name}), or write ${isSecret ? '' : `\${${name}:-default} or `}\${file:path} instead.`,
    wanted: { kind: 'environment', name },
  };
}

function readPlaceholderFile(file: string): PlaceholderValue {
  const shown = escapeText(file);
  const fail = (what: string): PlaceholderValue => ({
    problem: `the file ${shown} ${what}`,
    hint: 'Check the path in ${file:…}; a relative one starts at the folder of the config file.',
    wanted: { kind: 'file', path: file, mode: undefined },
  });
  try {
    const stat = statSync(file);
    if (stat.isDirectory()) return fail('is a folder');
    const bytes = readFileSync(file);
    if (bytes.byteLength > MAX_FILE_BYTES) return fail('is larger than 64 KB, too large for a value');
    const text = decodeUtf8(bytes);
    if (text === undefined) return fail('is not UTF-8 text');
    // Editors and `echo` end a file with a newline that is no part of the value.
    return {
      text: text.replace(/\r?\n$/, ''),
      origin: { kind: 'file', path: file, mode: stat.isFile() ? stat.mode & 0o777 : undefined },
    };
  } catch (error) {
    const code = fileErrorCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return fail('does not exist');
    return fail(code === 'EACCES' ? 'may not be read by this user' : `could not be read (${code})`);
  }
}
