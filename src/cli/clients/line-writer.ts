import { toAbortError } from '../../model/abort.ts';
import { StorageError } from '../../model/errors.ts';
import type { CliContext } from '../frame/context.ts';
import { flushStreams, isReaderGone, waitForRoom, watchWrites } from '../terminal/pipes.ts';

/** Writes lines for another program to stdout, no faster than it takes them. */
export interface LineWriter {
  /** Lines with their ends; the caller waits until there is room for more. */
  readonly write: (lines: string) => Promise<void>;
  /** A value as one line of JSON, with every known secret masked. */
  readonly writeJson: (value: unknown) => Promise<void>;
  /** Waits until all lines have left; the reader may have gone before the last ones. */
  readonly finish: () => Promise<void>;
}

/** Opens stdout for another program; each call throws once the reader is gone or the process is to stop. */
export function createLineWriter({ output, signal }: CliContext): LineWriter {
  const { stream } = output.stdout;
  const findFailure = watchWrites(stream);
  const assertRead = () => {
    const failure = findFailure();
    if ((failure !== undefined && isReaderGone(failure)) || stream.destroyed === true) throw describeGone();
  };
  const write = async (lines: string) => {
    if (signal.aborted) throw toAbortError(signal);
    assertRead();
    if (stream.write(lines) !== false) return;
    await waitForRoom(stream, signal);
    assertRead();
    if (signal.aborted) throw toAbortError(signal);
  };
  return {
    write,
    writeJson: (value) => write(`${output.mask(JSON.stringify(value))}\n`),
    finish: async () => {
      await flushStreams([stream]);
      assertRead();
    },
  };
}

function describeGone(): StorageError {
  return new StorageError('the program that reads the rows has closed its end', {
    code: 'storage_failed',
    hint: 'Look into its log. Everything synced is committed; the next read sends again what it has not confirmed.',
  });
}
