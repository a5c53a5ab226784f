import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { writeFileAtomically } from './run-file.ts';

// A destination is a member of its own: `duckdb`, `parquet`.
const recordSchema = z.object({ version: z.literal(1), stateDir: z.string() }).catchall(z.string());

/** The destinations of this state folder, and its own path when they were recorded. */
export interface DestinationRecord {
  /** Absolute, with links resolved, like the other paths. */
  readonly stateDir: string;
  /** By name in the config. */
  readonly places: Readonly<Record<string, string>>;
}

/** Undefined before the first run, or when the record cannot be read. */
export function readDestinationRecord(stateDir: string): DestinationRecord | undefined {
  try {
    const { stateDir: then, ...rest } = recordSchema.parse(
      JSON.parse(readFileSync(recordFile(stateDir), 'utf8')),
    );
    const places = Object.entries(rest).filter(([name]) => name !== 'version');
    return { stateDir: then, places: Object.fromEntries(places) as Record<string, string> };
  } catch {
    return undefined;
  }
}

export function writeDestinationRecord(stateDir: string, { stateDir: now, places }: DestinationRecord): void {
  writeFileAtomically(recordFile(stateDir), JSON.stringify({ version: 1, stateDir: now, ...places }));
}

function recordFile(stateDir: string): string {
  return join(stateDir, 'destination.json');
}
