import { writeWholeSync } from '../files/write-whole.ts';

/** Writes metrics where a textfile collector finds them, whole or not at all; throws what the system refuses. */
export function writeMetricsFile(file: string, text: string): void {
  // Collectors read every `*.prom`: one that is half written must not be called so.
  const temporary = `${file}.${process.pid}.tmp`;
  // The collector is another user, whatever the umask.
  writeWholeSync(file, text, { temporary, mode: 0o644, ignoresUmask: true });
}
