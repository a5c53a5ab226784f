import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { generationFolder } from '../../warehouse/lake-entry.ts';
import { findLostFiles } from '../../warehouse/lake-losses.ts';
import { assertCurrentsAreLinks, CURRENT, readCurrent } from './folders.ts';
import { type LakeFile, type LakeManifest, readManifest, type TableManifest } from './manifest.ts';
import { isWholeFile } from './whole-file.ts';

/** The files of a lake compared with its manifest. */
export interface LakeFacts {
  readonly manifest: LakeManifest;
  readonly files: number;
  readonly rows: number;
  /** Differences from the manifest, one sentence each. */
  readonly problems: readonly string[];
}

/**
 * Compares the folders of a lake with its manifest; undefined if there is no manifest. Throws PublishError (2) for
 * what a sync would reject as well.
 */
export function inspectLake(lake: string): LakeFacts | undefined {
  const manifest = readManifest(lake);
  if (manifest === undefined) return undefined;
  assertCurrentsAreLinks(
    lake,
    manifest.tables.map(({ table }) => table),
  );
  return {
    manifest,
    files: manifest.tables.reduce((sum, { files }) => sum + files.length, 0),
    rows: manifest.tables.reduce((sum, { rows }) => sum + rows, 0),
    problems: manifest.tables.flatMap((table) => inspectTable(lake, table)),
  };
}

/** Links that are gone or point elsewhere, and files that are missing or of the wrong size; no file is read. */
export function describeLosses(lake: string, { tables }: LakeManifest): readonly string[] {
  return tables.flatMap((one) => {
    const { table, generation, files } = one;
    const lost = findLostFiles(generationFolder(lake, table, generation), files);
    return [
      ...describeCurrent(lake, one),
      ...describe(`${table}/current`, lost, 'missing or of the wrong size'),
    ];
  });
}

/** Where readers of a table's `current` find other rows than those published, or none. */
function describeCurrent(lake: string, { table, generation }: TableManifest): readonly string[] {
  const current = readCurrent(lake, table);
  if (current === generation) return [];
  const isThere = existsSync(join(lake, table, CURRENT));
  const what = current !== undefined ? `points to ${current}` : isThere ? 'is not a link' : 'is gone';
  return [`${table}/current ${what} and should point to ${generation}`];
}

/** How a table's current generation differs from the manifest. */
export function inspectTable(lake: string, one: TableManifest): readonly string[] {
  const { table, generation, files } = one;
  const elsewhere = describeCurrent(lake, one);
  if (elsewhere.length > 0) return elsewhere;
  const folder = generationFolder(lake, table, generation);
  if (!existsSync(folder)) return [`${table}/current points to a folder that is gone`];
  return describeFiles(`${table}/current`, folder, files);
}

/**
 * How a folder of Parquet files differs from what is recorded, one sentence per difference.
 *
 * @param shown the folder as shown to users
 */
export function describeFiles(
  shown: string,
  folder: string,
  files: readonly Pick<LakeFile, 'path' | 'bytes'>[],
): readonly string[] {
  const wrong = files
    .filter(({ path, bytes }) => !isWholeFile(join(folder, path), bytes))
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
    ...describe(shown, wrong, 'missing, of the wrong size, or damaged'),
    ...describe(shown, foreign, 'not in the manifest'),
  ];
}

function describe(shown: string, paths: readonly string[], what: string): readonly string[] {
  const [first] = paths;
  if (first === undefined) return [];
  const more = paths.length === 1 ? '' : ` and ${paths.length - 1} more`;
  return [`${shown}/${first}${more}: ${what}`];
}
