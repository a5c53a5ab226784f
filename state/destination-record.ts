import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { writeFileAtomically } from './run-file.ts';

const recordSchema = z.object({
  version: z.literal(1),
  /** Absolute, with links resolved, like the other paths. */
  stateDir: z.string(),
  duckdb: z.string().optional(),
  parquet: z.string().optional(),
});

/** The destinations of this state folder, and its own path when they were recorded. */
export type DestinationRecord = Omit<z.infer<typeof recordSchema>, 'version'>;

/** Undefined before the first run, or when the record cannot be read. */
export function readDestinationRecord(stateDir: string): DestinationRecord | undefined {
  try {
    return recordSchema.parse(JSON.parse(readFileSync(recordFile(stateDir), 'utf8')));
  } catch {
    return undefined;
  }
}

export function writeDestinationRecord(stateDir: string, record: DestinationRecord): void {
  writeFileAtomically(recordFile(stateDir), JSON.stringify({ version: 1, ...record }));
}

function recordFile(stateDir: string): string {
  return join(stateDir, 'destination.json');
}
