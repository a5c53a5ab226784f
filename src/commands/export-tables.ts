import { join } from 'node:path';
import { selectStreams } from '../config/select-streams.ts';
import { ConfigError } from '../model/errors.ts';
import type { TableExport } from '../model/reports.ts';
import type { OfflineSettings } from '../model/settings.ts';
import { exporters } from '../publish/registry.ts';
import { historyOf } from '../warehouse/evolve-table.ts';
import { assertLakeHas, openOwnPublished } from '../warehouse/query-published.ts';

export interface TableExportRequest {
  /** Names; all tables without. */
  readonly streams?: readonly string[] | undefined;
  /** Absolute path of a folder that exists, or `s3://bucket/prefix`. */
  readonly place: string;
}

/**
 * Writes what is published as tables of Iceberg that readers open by their path: no catalog, no request, no key.
 *
 * @throws ConfigError (2) before the first publish; StorageError (6) for a lake with missing or damaged files; see `Exporter`
 */
export async function exportTables(
  settings: OfflineSettings,
  { streams, place }: TableExportRequest,
): Promise<TableExport> {
  const { readersFile, stateDir, reach } = settings;
  const selected = streams === undefined ? undefined : selectStreams(settings, streams);
  const names = selected?.flatMap(({ table }) => [table, historyOf(table)]);
  const isWanted = (table: string) => names?.includes(table) ?? true;
  // It says what is wrong with a file that is missing, or of another program.
  const published = await openOwnPublished(readersFile);
  try {
    await assertLakeHas(published, readersFile, { isWanted, readsBytes: true });
  } finally {
    await published.release();
  }
  const job = { file: readersFile, place, reach, spillFolder: join(stateDir, 'tmp') };
  const tables = await exporters.iceberg(job, isWanted);
  if (tables.length === 0)
    throw new ConfigError(
      streams === undefined
        ? 'no table is published yet'
        : `nothing is published of ${streams.join(', ')} yet`,
      { code: 'query_failed', hint: 'Run `sluice sync` first. Nothing was written.', context: {} },
    );
  return { place, tables };
}
