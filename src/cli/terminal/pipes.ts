import type { Writable } from 'node:stream';
import type { OutputStream } from './output.ts';

/**
 * Ignores a reader that closed its end (`| head`): the work is done, nobody reads the rest. Any other failure
 * to write a result, such as a full disk, goes to the caller.
 */
export function watchPipes(stdout: Writable, stderr: Writable, onFailure: (error: Error) => void): void {
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (!isReaderGone(error)) onFailure(error);
  });
  // A log that cannot be written must not fail the run.
  stderr.on('error', () => undefined);
}

/** Whether a write failed because the reader has closed its end. */
export function isReaderGone({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED';
}

/**
 * Returns what gives the first failed write from now on: the stdout of a process is never destroyed, only the error
 * says it.
 */
export function watchWrites(stream: OutputStream): () => NodeJS.ErrnoException | undefined {
  let failure: NodeJS.ErrnoException | undefined;
  stream.on?.('error', (error) => {
    failure ??= error;
  });
  return () => failure;
}

/** Resolves when a stream takes more, or never will, or the signal aborts. */
export function waitForRoom(stream: OutputStream, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (stream.once === undefined || stream.off === undefined) {
      resolve();
      return;
    }
    const done = () => {
      for (const event of ['drain', 'close', 'error'] as const) stream.off?.(event, done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    for (const event of ['drain', 'close', 'error'] as const) stream.once(event, done);
    signal.addEventListener('abort', done, { once: true });
  });
}

/** Resolves when everything written has left this process, or can no longer. */
export async function flushStreams(streams: readonly OutputStream[]): Promise<void> {
  await Promise.all(streams.map(flush));
  // A failed write is reported one turn of the event loop later.
  await new Promise((resolve) => setImmediate(resolve));
}

function flush(stream: OutputStream): Promise<void> {
  return new Promise((resolve) => {
    const { destroyed = false, writableEnded = false, writableLength = 0 } = stream;
    if (destroyed || writableEnded || writableLength === 0) resolve();
    else stream.write('', () => resolve());
  });
}
