import type { SqlSession } from '../model/sql.ts';
import { type DatabaseOptions, describeAttach, MEMORY_FILE } from './database-options.ts';
import { dropLeftFirst } from './first-table.ts';
import { quoteLiteral } from './identifiers.ts';

/** Attaches the file of an engine that was just created, and closes the engine to everything else. */
export async function attachFile(
  session: SqlSession,
  alias: string,
  options: DatabaseOptions,
): Promise<void> {
  const { file, readOnly = false, folders, views = [], extensions, attachMore } = options;
  await session.run(`ATTACH ${quoteLiteral(file)} AS ${alias} ${describeAttach(options)}`);
  await session.run(`USE ${alias}`);
  if (!readOnly) await dropLeftFirst(session, alias);
  await attachMore?.(session);
  await session.run(`SET TimeZone = 'UTC'`);
  const reach = [...folders, ...views];
  if (reach.length > 0)
    await session.run(`SET allowed_directories = [${reach.map(quoteLiteral).join(', ')}]`);
  await session.run('SET enable_external_access = false');
  // Otherwise COPY could still overwrite the file itself or an engine log.
  if (readOnly && reach.length === 0) await session.run(`SET disabled_filesystems = 'LocalFileSystem'`);
  // Only these two may be changed later.
  if (!readOnly || extensions !== undefined)
    await session.run(`SET allowed_configs = ['memory_limit', 'threads']`);
  await session.run('SET lock_configuration = true');
}

/** How many columns the widest table of an attached file has. */
export async function readWidth(session: SqlSession, { file }: DatabaseOptions): Promise<number> {
  // Its tables are made later, and may be beside those of a server, which it would ask for all of them.
  if (file === MEMORY_FILE) return 0;
  const tables =
    'SELECT max(column_count) AS width FROM duckdb_tables() WHERE database_name = current_database()';
  // What is damaged is reported by the statement that needs it.
  const [row] = await session.all(tables).catch(() => []);
  return Number(row?.['width'] ?? 0);
}
