import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { z } from 'zod';
import { resolveLinks } from '../src/files/real-paths.ts';
import { readPublishedRecord } from './published-record.ts';
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

/** The same, also for a version that did not write this record: it recorded the published file alone. */
export function recallDestinations(stateDir: string): DestinationRecord | undefined {
  const record = readDestinationRecord(stateDir);
  if (record !== undefined) return record;
  const published = readPublishedRecord(stateDir);
  return published && { stateDir: resolveLinks(stateDir), places: { file: published.path } };
}

/**
 * Whether a recorded destination is one of `wanted`, absolute with links resolved. If a whole project was moved or
 * mounted elsewhere, its paths relative to the state folder are unchanged.
 */
export function isRecorded(record: DestinationRecord, stateDir: string, wanted: readonly string[]): boolean {
  const here = resolveLinks(stateDir);
  const held = Object.values(record.places);
  return wanted.some(
    (place) =>
      held.includes(place) || held.some((one) => relative(record.stateDir, one) === relative(here, place)),
  );
}

function recordFile(stateDir: string): string {
  return join(stateDir, 'destination.json');
}
