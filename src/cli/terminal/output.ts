import { styleText } from 'node:util';
import type { Screen } from '../../render/screen.ts';

/** The part of a writable stream the command line uses; `process.stdout` is one, tests pass their own. */
export interface OutputStream {
  write(text: string, done?: () => void): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  /** For writers that wait until there is room again. */
  once?(event: 'drain' | 'close' | 'error', listener: () => void): unknown;
  off?(event: 'drain' | 'close' | 'error', listener: () => void): unknown;
  /** For writers that must know of a reader that is gone. */
  on?(event: 'error', listener: (error: NodeJS.ErrnoException) => void): unknown;
  readonly destroyed?: boolean;
  readonly writableEnded?: boolean;
  readonly writableLength?: number;
}

/** The two streams a command writes to: results on stdout, everything else on stderr. */
export interface Output {
  /** Writes a result to stdout unchanged. */
  readonly writeResult: (text: string) => void;
  /** Writes a line for people to stderr, with every known secret masked. */
  readonly writeNote: (line: string) => void;
  /** Lets a redrawing display clear itself before each line and redraw after it. */
  readonly guardNotes: (guard: NoteGuard | undefined) => void;
  /** Masks every known secret. */
  readonly mask: (text: string) => string;
  readonly stdout: Terminal;
  readonly stderr: Terminal;
}

/** Called instead of writing a line; calls `write` when the line may be written. */
export type NoteGuard = (write: () => void) => void;

/** The far end of a stream. */
export interface Terminal extends Screen {
  readonly stream: OutputStream;
}

/** Makes the output of one process, or of one test. */
export function createOutput(options: {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly env: NodeJS.ProcessEnv;
  readonly mask: (text: string) => string;
}): Output {
  const { stdout, stderr, env, mask } = options;
  let guard: NoteGuard | undefined;
  return {
    writeResult: (text) => void stdout.write(text),
    writeNote(line) {
      const write = () => void stderr.write(`${mask(line)}\n`);
      if (guard === undefined) write();
      else guard(write);
    },
    guardNotes(next) {
      guard = next;
    },
    mask,
    stdout: describeTerminal(stdout, env),
    stderr: describeTerminal(stderr, env),
  };
}

function describeTerminal(stream: OutputStream, env: NodeJS.ProcessEnv): Terminal {
  const isTerminal = stream.isTTY === true;
  const isDumb = env['TERM'] === 'dumb';
  const hasColours = wantsColours(env, isTerminal && !isDumb);
  return {
    stream,
    isTerminal,
    canRedraw: isTerminal && !isDumb && !isContinuousIntegration(env),
    hasUnicode: hasUnicodeLocale(env),
    hasColours,
    paint: (style, text) => (hasColours ? styleText(style, text, { validateStream: false }) : text),
    columns: () => (isTerminal ? Math.max(20, stream.columns || 80) : undefined),
  };
}

// https://no-color.org: any value but the empty one means no colours.
function wantsColours(env: NodeJS.ProcessEnv, isTerminal: boolean): boolean {
  if (env['NO_COLOR']) return false;
  if (env['FORCE_COLOR'] !== undefined) return env['FORCE_COLOR'] !== '0' && env['FORCE_COLOR'] !== 'false';
  return isTerminal && !isContinuousIntegration(env);
}

function isContinuousIntegration(env: NodeJS.ProcessEnv): boolean {
  const value = env['CI'];
  return value !== undefined && value !== '' && value !== '0' && value !== 'false';
}

function hasUnicodeLocale(env: NodeJS.ProcessEnv): boolean {
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'];
  if (locale) return /utf-?8/i.test(locale);
  return process.platform !== 'linux';
}
