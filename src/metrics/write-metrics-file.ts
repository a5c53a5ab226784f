import { readFile } from 'node:fs/promises';
import { writeNamed } from '../files/write-named.ts';
import { keepEarlier } from './keep-earlier.ts';

/**
 * Writes metrics where a textfile collector finds them, whole or not at all; throws what the system refuses.
 *
 * @param unread accounts whose config could not be read, or undefined for a config without accounts: what the file
 * says of their data is kept
 */
export async function writeMetricsFile(
  file: string,
  text: string,
  unread: readonly (string | undefined)[] = [],
): Promise<void> {
  const earlier = unread.length === 0 ? '' : await readFile(file, 'utf8').catch(() => '');
  const written = earlier === '' ? text : keepEarlier(text, earlier, new Set(unread));
  // The collector is another user, whatever the umask.
  await writeNamed(file, Buffer.from(written), {
    mark: String(process.pid),
    mode: 0o644,
    ignoresUmask: true,
  });
}
