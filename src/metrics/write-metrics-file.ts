import { writeNamed } from '../files/write-named.ts';

/** Writes metrics where a textfile collector finds them, whole or not at all; throws what the system refuses. */
export async function writeMetricsFile(file: string, text: string): Promise<void> {
  // The collector is another user, whatever the umask.
  await writeNamed(file, Buffer.from(text), { mark: String(process.pid), mode: 0o644, ignoresUmask: true });
}
