import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DuckDBConnection } from '@duckdb/node-api';

/**
 * The prototypes of the engine's connections in this process: of the package, and, where the built command line runs,
 * of the copy of the package that is bundled with it.
 */
export async function listConnections(): Promise<readonly object[]> {
  const chunks = join(dirname(process.argv[1] ?? ''), 'chunks');
  if (!existsSync(chunks)) return [DuckDBConnection.prototype];
  for (const file of readdirSync(chunks).filter((name) => /^lib-.*\.js$/.test(name))) {
    const { default: found } = (await import(join(chunks, file))) as {
      readonly default?: { readonly DuckDBConnection?: { readonly prototype: object } };
    };
    if (found?.DuckDBConnection !== undefined)
      return [DuckDBConnection.prototype, found.DuckDBConnection.prototype];
  }
  throw new Error(`no file of ${chunks} has the engine's package: nothing would be hooked`);
}
