import type { SentRow, StreamDelivery } from '../../model/client-stream.ts';
import type { LineWriter } from './line-writer.ts';

/**
 * Sends the rows of a stream as they are read, chunk by chunk.
 *
 * @param describe the line of a row, with its end
 * @param onFirst called once there is a row
 * @returns how many there were
 */
export async function sendRows(
  lines: LineWriter,
  { rows }: StreamDelivery,
  describe: (row: SentRow) => string,
  onFirst?: () => Promise<void>,
): Promise<number> {
  let count = 0;
  for await (const chunk of rows) {
    if (count === 0 && chunk.length > 0) await onFirst?.();
    count += chunk.length;
    await lines.write(chunk.map(describe).join(''));
  }
  return count;
}
