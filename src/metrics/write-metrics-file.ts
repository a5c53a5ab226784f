import { closeSync, fchmodSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/** Writes metrics where a textfile collector finds them, whole or not at all; throws what the system refuses. */
export function writeMetricsFile(file: string, text: string): void {
  // Collectors read every `*.prom`: one that is half written must not be called so.
  const temporary = `${file}.${process.pid}.tmp`;
  // Never through a link that another user of the folder has laid there.
  rmSync(temporary, { force: true });
  const descriptor = openSync(temporary, 'wx', 0o644);
  try {
    writeFileSync(descriptor, text);
    // The collector is another user, whatever the umask.
    fchmodSync(descriptor, 0o644);
    fsyncSync(descriptor);
  } catch (thrown) {
    rmSync(temporary, { force: true });
    throw thrown;
  } finally {
    closeSync(descriptor);
  }
  renameSync(temporary, file);
}
