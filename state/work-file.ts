import { join } from 'node:path';

/** The work file of a state folder; only one run has it open. */
export function workFile(stateDir: string): string {
  return join(stateDir, 'work.duckdb');
}
