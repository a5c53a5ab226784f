import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');
const built = join(root, 'dist/src/cli/bin.js');

/** Whether what was built is no older than the sources it was built from. */
export const isBuilt = isCurrent();

/** The command line that tests start as a process: the built one, unless the sources are newer. */
export const cliEntry = isBuilt ? built : join(root, 'src/cli/bin.ts');

function isCurrent(): boolean {
  if (!existsSync(built)) return false;
  const builtAtMs = statSync(built).mtimeMs;
  return ['src', 'state', 'connectors'].every((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true }).every(
      (entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs <= builtAtMs,
    ),
  );
}
