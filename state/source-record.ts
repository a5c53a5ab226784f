import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { writeFileAtomically } from './run-file.ts';

const recordSchema = z.object({
  version: z.literal(1),
  key: z.string(),
  asks: z.string(),
  shares: z.boolean().optional(),
});

/** What a state folder reads, for the other accounts of its config: the work file is locked during a run. */
export interface SourceRecord {
  /** Name of the key; reveals nothing about it. */
  readonly key: string;
  /** Names everything the streams ask for: equal for accounts that would have the same rows with the same key. */
  readonly asks: string;
  /** The user accepted that another account has the same key and asks for the same. */
  readonly shares?: boolean | undefined;
}

/** Undefined before the first run, or when the record cannot be read. */
export function readSourceRecord(stateDir: string): SourceRecord | undefined {
  try {
    const { key, asks, shares } = recordSchema.parse(JSON.parse(readFileSync(recordFile(stateDir), 'utf8')));
    return { key, asks, shares };
  } catch {
    return undefined;
  }
}

export function writeSourceRecord(stateDir: string, { key, asks, shares }: SourceRecord): void {
  const held = readSourceRecord(stateDir);
  if (held?.key === key && held.asks === asks && held.shares === shares) return;
  writeFileAtomically(recordFile(stateDir), JSON.stringify({ version: 1, key, asks, shares }));
}

/** Call when the rows are gone that were read with the key. */
export function removeSourceRecord(stateDir: string): void {
  rmSync(recordFile(stateDir), { force: true });
}

function recordFile(stateDir: string): string {
  return join(stateDir, 'source.json');
}
