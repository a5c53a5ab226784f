import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { generationFolder, readCurrent } from './folders.ts';
import { type LakeManifest, readManifest, type TableManifest } from './manifest.ts';

/** What the files of a lake look like beside its manifest. */
export interface LakeFacts {
  readonly manifest: LakeManifest;
  readonly files: number;
  readonly rows: number;
  /** What is not as the manifest says, a sentence each. */
  readonly problems: readonly string[];
}

/** Holds the folders of a lake against its manifest; undefined where there is none. */
export function inspectLake(lake: string): LakeFacts | undefined {
  const manifest = readManifest(lake);
  if (manifest === undefined) return undefined;
  return {
    manifest,
    files: manifest.tables.reduce((sum, { files }) => sum + files.length, 0),
    rows: manifest.tables.reduce((sum, { rows }) => sum + rows, 0),
    problems: manifest.tables.flatMap((table) => inspectTable(lake, table)),
  };
}

/** What of a table's current generation is not as the manifest says. */
export function inspectTable(lake: string, { table, generation, files }: TableManifest): readonly string[] {
  const current = readCurrent(lake, table);
  if (current !== generation) {
    const what = current === undefined ? 'is no link' : `points to ${current}`;
    return [`${table}/current ${what} and should point to ${generation}`];
  }
  const folder = generationFolder(lake, table, generation);
  if (!existsSync(folder)) return [`${table}/current points to a folder that is gone`];
  const wrong = files
    .filter(({ path, bytes }) => statSync(join(folder, path), { throwIfNoEntry: false })?.size !== bytes)
    .map(({ path }) => path);
  const known = new Set(files.map(({ path }) => path));
  const foreign = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length + 1)
        .replaceAll('\\', '/'),
    )
    .filter((path) => !known.has(path));
  return [
    ...describe(table, wrong, 'missing or of another size'),
    ...describe(table, foreign, 'not in the manifest'),
  ];
}

function describe(table: string, paths: readonly string[], what: string): readonly string[] {
  const [first] = paths;
  if (first === undefined) return [];
  const more = paths.length === 1 ? '' : ` and ${paths.length - 1} more`;
  return [`${table}/current/${first}${more}: ${what}`];
}
