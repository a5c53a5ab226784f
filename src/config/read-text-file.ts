import { NOT_A_FILE, readAtMost, readFileAtMost } from '../files/read-at-most.ts';
import { ConfigError, type ErrorCode } from '../model/errors.ts';
import { escapeText } from './config-path.ts';

/** What a file is for people, and what to do where it does not exist. */
export interface FileRole {
  /** Comes before its name in messages. */
  readonly title: string;
  readonly ifMissing: string;
  /** What to do where it is not text. */
  readonly ifBytes?: string;
  /** It may be a pipe from another program; it is read once. */
  readonly isPipeAllowed?: boolean;
}

const CONFIG: FileRole = {
  title: 'config file',
  ifMissing:
    'Run `sluice init` to write one, `sluice demo` to look around without a key, or name a file with --config FILE.',
};

/** Configs, catalogs and states of other programs are smaller by far. */
const MOST_BYTES = 64 * 2 ** 20;

/** Reads a config file, or a part of one, as text; every way that can fail says what to do. */
export function readText(path: string, fileName: string, role: FileRole = CONFIG): string {
  const fileError = (name: string, problem: FileProblem) => buildFileError(role, name, problem);
  const bytes = readBytes(path, fileName, role);
  const text = decodeUtf8(bytes);
  if (text === undefined || text.includes('\0'))
    throw fileError(fileName, {
      what: 'is not UTF-8 text',
      hint: role.ifBytes ?? 'Save it as UTF-8; PowerShell: Set-Content -Encoding utf8.',
    });
  return text;
}

/** UTF-8 text without a byte order mark, or undefined when the bytes are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** The code of a Node file error, e.g. `ENOENT`. */
export function fileErrorCode(error: unknown): string {
  const code = (error as { readonly code?: unknown }).code;
  return typeof code === 'string' ? code : 'unknown error';
}

function readBytes(path: string, fileName: string, role: FileRole): Uint8Array {
  let bytes;
  try {
    bytes = role.isPipeAllowed === true ? readAtMost(path, MOST_BYTES) : readFileAtMost(path, MOST_BYTES);
  } catch (error) {
    throw readError(fileErrorCode(error), fileName, role, error);
  }
  if (bytes !== undefined) return bytes;
  throw buildFileError(role, fileName, { what: 'is larger than 64 MB', hint: 'Check the path.' });
}

function readError(code: string, fileName: string, role: FileRole, cause: unknown): ConfigError {
  const fileError = (name: string, problem: FileProblem) => buildFileError(role, name, problem);
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return fileError(fileName, {
        what: 'does not exist',
        hint: role.ifMissing,
        code: role === CONFIG ? 'config_not_found' : 'config_invalid',
        cause,
      });
    case 'EISDIR':
      return fileError(fileName, {
        what: 'is a folder',
        hint:
          role === CONFIG ? 'Name the file in it, e.g. --config FOLDER/sluice.yaml.' : 'Name a file in it.',
      });
    case NOT_A_FILE:
      return fileError(fileName, {
        what: 'is a pipe or a device, and a file is needed',
        hint:
          role === CONFIG
            ? 'Save the config as a file, and name that: relative paths in it start at its folder.'
            : 'Save it as a file, and name that.',
      });
    case 'EACCES':
    case 'EPERM':
      return fileError(fileName, {
        what: 'cannot be read by this user',
        hint: 'Run it as the user that the file belongs to, or let this user read it: its owner can with chmod or chown.',
      });
    default:
      return fileError(fileName, {
        what: `could not be read (${code})`,
        hint: 'Check the path and the disk.',
        cause,
      });
  }
}

/** What is wrong with a config file. */
interface FileProblem {
  /** Follows the file's name. */
  readonly what: string;
  readonly hint: string;
  readonly code?: ErrorCode;
  readonly cause?: unknown;
}

function buildFileError(
  { title }: FileRole,
  fileName: string,
  { what, hint, code = 'config_invalid', cause }: FileProblem,
): ConfigError {
  return new ConfigError(`${title} ${escapeText(fileName)} ${what}`, {
    code,
    hint,
    context: { path: fileName },
    ...(cause === undefined ? {} : { cause }),
  });
}
