import type { Found, Inspection, Recorded, StoredColumn } from './lakehouse.ts';
import { OWN_TABLES } from './names.ts';

/** Tables that say what the others hold: if they are not as they were left, a commit was cut off. */
export const LEADING = [OWN_TABLES.tables, OWN_TABLES.parts].map((table) => `_sluice.${table}`);

/** Versions of tables, by name: a table with the same version has the same rows and columns. */
export interface TableVersions {
  /** Those that Sluice left. */
  readonly left: ReadonlyMap<string, string>;
  /** That of a table now; undefined if it is gone. */
  readonly findVersion: (name: string) => Promise<string | undefined>;
  /** Whether a table has these columns and no others. */
  readonly compareColumns: (name: string, recorded: readonly StoredColumn[]) => Promise<Found>;
}

/**
 * Compares the version of each table with the one that Sluice left. A commit that was cut off before that was recorded,
 * and a change by another program, both show as other versions.
 */
export async function compareVersions(
  { left, findVersion, compareColumns }: TableVersions,
  { tables }: Recorded,
): Promise<Inspection> {
  const areAsLeft = async (names: readonly string[]) => {
    for (const name of names) if (left.get(name) !== (await findVersion(name))) return false;
    return true;
  };
  // Otherwise the columns that are recorded may be newer than a table that is as it was left.
  const isWhole = await areAsLeft(LEADING);
  const touched = new Set<string>();
  const found = new Map<string, Found>();
  for (const [name, { columns }] of tables) {
    if (isWhole && left.has(name) && (await areAsLeft([name]))) continue;
    touched.add(name);
    found.set(name, await compareColumns(name, columns));
  }
  return { found, touched };
}
