import { readFileSync } from 'node:fs';

/** Version of this copy of Sluice, from the package.json above the sources or the build. */
export const version = readVersion();

function readVersion(): string {
  // src/model is two folders below it in a clone, dist/src/model three, dist/src/cli/chunks four.
  for (const path of ['../../package.json', '../../../package.json', '../../../../package.json']) {
    try {
      const manifest = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as Record<
        string,
        unknown
      >;
      if (manifest['name'] === 'sluice') return String(manifest['version']);
    } catch {
      // Not there: the next place is.
    }
  }
  return 'unknown';
}
