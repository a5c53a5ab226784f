import type { Writable } from 'node:stream';

/**
 * Ignores a reader that closed its end (`| head`): the work is done, nobody reads the rest. Any other failure
 * to write a result, such as a full disk, goes to the caller.
 */
export function watchPipes(stdout: Writable, stderr: Writable, onFailure: (error: Error) => void): void {
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_DESTROYED') onFailure(error);
  });
  // A log that cannot be written must not fail the run.
  stderr.on('error', () => undefined);
}

/** Resolves when everything written has left this process, or can no longer. */
export async function flushStreams(streams: readonly Writable[]): Promise<void> {
  await Promise.all(streams.map(flush));
  // A failed write is reported one turn of the event loop later.
  await new Promise((resolve) => setImmediate(resolve));
}

function flush(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed || stream.writableEnded || stream.writableLength === 0) resolve();
    else stream.write('', () => resolve());
  });
}
