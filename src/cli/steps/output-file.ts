import { fstatSync, type Stats } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { takesBytes, writeNamed } from '../../files/write-named.ts';
import { ConfigError, StorageError } from '../../model/errors.ts';

/** Where a command writes what `--output` names. */
export interface OutputTarget {
  /** As the user gave it, so that messages name it that way. */
  readonly path: string;
  readonly absolute: string;
}

/** What a command writes. */
export interface OutputKind {
  /** Which files it replaces, for people. */
  readonly replaces: string;
  /** Whether a file that begins like this is one of them. */
  readonly isReplaced: (start: string) => boolean;
  /** What to name in place of a folder and the like, e.g. `Name a file, e.g. --output report.html.` */
  readonly hint: string;
}

const MAKE_FOLDER = 'Create the folder first, or name another place with --output.';
/** As much of a file as shows what it is. */
const START_BYTES = 4096;

/** Checks that a command may write there, before it reads anything: a folder that exists, and no file of anybody else. */
export async function findOutput(cwd: string, path: string, kind: OutputKind): Promise<OutputTarget> {
  if (path === '-')
    throw refuse(
      path,
      '--output must name a file, and - means stdout, where this command prints what it did',
      kind.hint,
    );
  const absolute = resolve(cwd, path);
  const found = await stat(absolute).catch(() => undefined);
  if (found?.isDirectory() === true || /[/\\]$/.test(path))
    throw refuse(path, `${path} is a folder`, kind.hint);
  if (found === undefined) await assertFolder(path, absolute);
  else if (isPrintedTo(found))
    throw refuse(path, `${path} is where this command prints what it did; nothing was written`, kind.hint);
  else if (found.isFile()) await assertReplaced(path, absolute, kind);
  else if (!takesBytes(found))
    throw refuse(path, `${path} is a disk or a socket, not a file; it was not touched`, kind.hint);
  return { path, absolute };
}

async function assertFolder(path: string, absolute: string): Promise<void> {
  const folder = await stat(dirname(absolute)).catch(() => undefined);
  if (folder?.isDirectory() === true) return;
  const what = folder === undefined ? 'does not exist' : 'is a file';
  throw refuse(path, `the folder of ${path} ${what}`, MAKE_FOLDER);
}

async function assertReplaced(path: string, absolute: string, kind: OutputKind): Promise<void> {
  const start = await readStart(absolute);
  // An empty file is what mktemp and the like leave.
  if (start === '' || (start !== undefined && kind.isReplaced(start))) return;
  throw refuse(
    path,
    `${path} exists and is not ${kind.replaces}; it was not touched`,
    'Name another file with --output, or move the existing one away.',
  );
}

async function readStart(file: string): Promise<string | undefined> {
  const handle = await open(file, 'r').catch(() => undefined);
  if (handle === undefined) return undefined;
  try {
    const start = Buffer.alloc(START_BYTES);
    const { bytesRead } = await handle.read(start, 0, START_BYTES, 0);
    return start.toString('latin1', 0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** Whether it is stdout or stderr, redirected: a rename would take its place, and the messages would follow the page. */
function isPrintedTo(found: Stats): boolean {
  if (found.isCharacterDevice()) return false;
  return [1, 2].some((descriptor) => {
    try {
      const { dev, ino } = fstatSync(descriptor);
      return found.ino === ino && found.dev === dev;
    } catch {
      return false;
    }
  });
}

function refuse(path: string, message: string, hint: string): ConfigError {
  return new ConfigError(message, { code: 'usage_invalid', hint, context: { path } });
}

/** Writes it and returns its size. Readers of an earlier file keep that one. */
export async function writeOutput(
  { path, absolute }: OutputTarget,
  text: string,
  mark: string,
): Promise<number> {
  const bytes = Buffer.from(text, 'utf8');
  try {
    await writeNamed(absolute, bytes, { mark, mode: 0o666 });
    return bytes.length;
  } catch (cause) {
    throw toOutputError(path, cause);
  }
}

/** What a user is told of the system's refusal to write there. */
export function toOutputError(path: string, cause: unknown): ConfigError | StorageError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown cause';
  if (code === 'ENXIO') {
    const hint = 'Start the program that reads from it first, or name a file with --output.';
    return refuse(path, `no program reads from ${path}; nothing was written`, hint);
  }
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return refuse(path, `the folder of ${path} does not exist, or is not a folder`, MAKE_FOLDER);
  return new StorageError(`${path} could not be written (${code})`, {
    code: 'storage_failed',
    hint:
      code === 'EPIPE'
        ? 'The program that reads from it ended. Look at its messages, or name a file with --output. No data is affected.'
        : 'Check the permissions and free space of its folder, or name another place with --output. No data is affected.',
    context: { path },
    cause,
  });
}
