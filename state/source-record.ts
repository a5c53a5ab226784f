import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { writeFileAtomically } from './run-file.ts';

const recordSchema = z.object({ version: z.literal(1), key: z.string(), asks: z.string() });

/** What a state folder reads, for the other accounts of its config: the work file is locked during a run. */
export interface SourceRecord {
  /** Name of the key; reveals nothing about it. */
  readonly key: string;
  /** Names everything the streams ask for: equal for accounts that would have the same rows with the same key. */
  readonly asks: string;
}

/** Undefined before the first run, or when the record cannot be read. */
export function readSourceRecord(stateDir: string): SourceRecord | undefined {
  try {
    const { key, asks } = recordSchema.parse(JSON.parse(readFileSync(recordFile(stateDir), 'utf8')));
    return { key, asks };
  } catch {
    return undefined;
  }
}

export function writeSourceRecord(stateDir: string, { key, asks }: SourceRecord): void {
  const held = readSourceRecord(stateDir);
  if (held?.key === key && held.asks === asks) return;
  writeFileAtomically(recordFile(stateDir), JSON.stringify({ version: 1, key, asks }));
}

/** Call when the rows are gone that were read with the key. */
export function removeSourceRecord(stateDir: string): void {
  rmSync(recordFile(stateDir), { force: true });
}

function recordFile(stateDir: string): string {
  return join(stateDir, 'source.json');
}
