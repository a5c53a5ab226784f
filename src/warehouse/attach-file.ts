import type { SqlSession } from '../model/sql.ts';
import { type DatabaseOptions, describeAttach } from './database-options.ts';
import { dropLeftFirst } from './first-table.ts';
import { quoteLiteral } from './identifiers.ts';

/**
 * Attaches the file of an engine that was just created, and closes the engine to everything else. Returns how many
 * columns the widest table has, 0 for a reader.
 */
export async function attachFile(
  session: SqlSession,
  alias: string,
  options: DatabaseOptions,
): Promise<number> {
  const { file, readOnly = false, folders, views = [], extensions, attachMore } = options;
  await session.run(`ATTACH ${quoteLiteral(file)} AS ${alias} ${describeAttach(options)}`);
  await session.run(`USE ${alias}`);
  const width = readOnly ? 0 : await dropLeftFirst(session, alias);
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
  return width;
}
