import { open, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { writeWhole } from '../../files/write-whole.ts';
import { ConfigError, StorageError } from '../../model/errors.ts';
import { REPORT_START } from '../../model/report-data.ts';

/** Where a report goes. */
export interface ReportTarget {
  /** As the user gave it, so that messages name it that way. */
  readonly path: string;
  readonly absolute: string;
}

/** The pages of a command. */
export interface PageKind {
  /** How each of them begins. */
  readonly start: string;
  readonly command: string;
  /** What it is called by default. */
  readonly example: string;
}

const reportPages: PageKind = { start: REPORT_START, command: 'sluice report', example: 'report.html' };

/** Checks that a page may be written there: a new file in a folder that exists, or an earlier page of its kind. */
export async function findTarget(cwd: string, path: string, kind = reportPages): Promise<ReportTarget> {
  const absolute = resolve(cwd, path);
  const found = await stat(absolute).catch(() => undefined);
  if (found?.isDirectory() === true || /[/\\]$/.test(path)) {
    throw refuse(path, `${path} is a folder`, `Name a file, e.g. --output ${kind.example}.`);
  }
  if (found !== undefined && !(await isPage(absolute, kind.start))) {
    throw refuse(
      path,
      `${path} exists and is not a page that \`${kind.command}\` wrote; it was not touched`,
      'Name another file with --output, or move the existing one away.',
    );
  }
  if (found === undefined && (await stat(dirname(absolute)).catch(() => undefined)) === undefined) {
    const hint = 'Create the folder first, or name another place with --output.';
    throw refuse(path, `the folder of ${path} does not exist`, hint);
  }
  return { path, absolute };
}

function refuse(path: string, message: string, hint: string): ConfigError {
  return new ConfigError(message, { code: 'usage_invalid', hint, context: { path } });
}

async function isPage(file: string, expected: string): Promise<boolean> {
  const handle = await open(file, 'r').catch(() => undefined);
  if (handle === undefined) return false;
  try {
    const start = Buffer.alloc(expected.length);
    const { bytesRead } = await handle.read(start, 0, start.length, 0);
    // An empty file is what mktemp and the like leave.
    return bytesRead === 0 || start.toString('latin1') === expected;
  } finally {
    await handle.close();
  }
}

/** Writes the file atomically and returns its size. Readers of the earlier file keep that one. */
export async function writeReportFile(
  { path, absolute }: ReportTarget,
  html: string,
  mark: string,
): Promise<number> {
  const temporary = join(dirname(absolute), `.${basename(absolute)}.${mark}.tmp`);
  const bytes = Buffer.from(html, 'utf8');
  try {
    await writeWhole(absolute, bytes, { temporary, mode: 0o666 });
    return bytes.length;
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown cause';
    throw new StorageError(`${path} could not be written (${code})`, {
      code: 'storage_failed',
      hint: 'Check the permissions and free space of its folder, or name another place with --output. No data is affected.',
      context: { path },
      cause,
    });
  }
}
