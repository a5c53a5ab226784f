import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DuckDBInstance } from '@duckdb/node-api';
import type { EngineExtensions } from './database-options.ts';
import type { EngineMemory, EngineShare } from './engine-memory.ts';
import { nameSpillFolder } from './spill-folder.ts';

interface InstanceOptions {
  readonly file: string;
  readonly isSizedByFile?: boolean;
  readonly folders: readonly string[];
  readonly readOnly?: boolean;
  readonly extensions?: EngineExtensions | undefined;
}

/** The same, and counts the engine as open. */
export async function createCounted(options: InstanceOptions, memory: EngineMemory): Promise<DuckDBInstance> {
  memory.opened(options.isSizedByFile === true ? readSize(options.file) : undefined);
  try {
    return await createInstance(options, memory.current);
  } catch (error) {
    memory.closed();
    throw error;
  }
}

/** Bytes; 0 for a file that is still to be made. */
function readSize(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** Creates an in-memory engine, configured for a process that shares its machine with others. */
async function createInstance(
  { folders, readOnly = false, extensions }: InstanceOptions,
  memory: EngineShare,
): Promise<DuckDBInstance> {
  const { DuckDBInstance } = await import('@duckdb/node-api');
  // By default the engine spills into the current folder.
  const [folder] = folders;
  const elsewhere = readOnly ? '' : join(tmpdir(), `sluice-${randomUUID()}`);
  const spillFolder = folder === undefined ? elsewhere : nameSpillFolder(folder);
  return DuckDBInstance.create(':memory:', {
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    memory_limit: `${memory.megabytes}MB`,
    threads: String(memory.threads),
    // As soon as it is freed: see `trim`.
    allocator_flush_threshold: '1MB',
    allocator_bulk_deallocation_flush_threshold: '1MB',
    preserve_insertion_order: 'false',
    // Where a dictionary does not hold a text, the engine keeps the column as it is unless its texts have this length on
    // average. It then reads a long text again for each row without a value that follows it.
    zstd_min_string_length: '1',
    temp_directory: spillFolder,
    ...(extensions !== undefined && { extension_directory: extensions.folder }),
    ...(extensions?.areChecked === true && { allow_unsigned_extensions: 'true' }),
  });
}
