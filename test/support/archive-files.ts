import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Flow } from './sync-harness.ts';

/** Where a flow keeps what a stream without slices received. */
export function archiveOf(flow: Flow, stream = 'items'): string {
  return join(flow.stateDir, 'archive', stream, 'whole');
}

/** Names of the files of `items` there that end so. */
export function listArchive(flow: Flow, end: string): readonly string[] {
  return readdirSync(archiveOf(flow)).filter((name) => name.endsWith(end));
}
