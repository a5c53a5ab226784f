import { stat } from 'node:fs/promises';
import type { SqlSession } from '../../model/sql.ts';

/** The file of an extension, and what tells it from any other file or state of it. */
interface ExtensionFile {
  readonly path: string;
  readonly identity: string;
}

/** An extension in a folder of extensions. */
interface NamedExtension {
  readonly folder: string;
  readonly name: string;
}

// The engine hashes a whole file to check its signature each time an engine loads it: 100 MB, half a CPU second, for a
// DuckLake on Postgres and S3. A library that is loaded in this process is not read again by the next engine that loads it.
const checked = new Map<string, ExtensionFile>();

/** Whether this process has loaded all of these extensions with their signatures checked, from the same files. */
export async function areChecked(folder: string, names: readonly string[]): Promise<boolean> {
  for (const name of names) {
    const known = checked.get(keyOf({ folder, name }));
    if (known === undefined || (await identify(known.path)) !== known.identity) return false;
  }
  return true;
}

/** Loads an extension in an engine that checks signatures; the file counts as checked if it stayed the same. */
export async function loadChecking(
  session: SqlSession,
  extension: NamedExtension,
  load: () => Promise<void>,
): Promise<void> {
  const key = keyOf(extension);
  checked.delete(key);
  const path = await findPath(session, extension.name);
  const identity = path === undefined ? undefined : await identify(path);
  await load();
  if (path === undefined || identity === undefined || identity !== (await identify(path))) return;
  checked.set(key, { path, identity });
}

async function findPath(session: SqlSession, name: string): Promise<string | undefined> {
  const sql = 'SELECT install_path FROM duckdb_extensions() WHERE installed AND extension_name = $1';
  const [row] = await session.all(sql, [name]);
  return row === undefined ? undefined : String(row['install_path']);
}

/** Undefined if there is no such file. */
async function identify(path: string): Promise<string | undefined> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(':');
  } catch {
    return undefined;
  }
}

function keyOf({ folder, name }: NamedExtension): string {
  return `${folder}\n${name}`;
}
