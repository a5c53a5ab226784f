import { readFile } from 'node:fs/promises';

/** Version of this copy of Sluice, from the package.json above the source or the build. */
export async function readVersion(): Promise<string> {
  // src/cli of a clone is two folders below it, dist/src/cli of a package three.
  for (const path of ['../../package.json', '../../../package.json']) {
    const text = await readFile(new URL(path, import.meta.url), 'utf8').catch(() => undefined);
    if (text === undefined) continue;
    const { name, version } = JSON.parse(text) as { readonly name?: string; readonly version?: string };
    if (name === 'sluice' && version !== undefined) return version;
  }
  return 'unknown';
}
