import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { RunReport } from '../src/model/run-report.ts';

const KEPT_RUNS = 50;

/**
 * The last runs, newest first, from the small file that also has the runs which never reached the
 * warehouse (a refused key, a full disk). Anything unreadable counts as no history.
 */
export function readRunFile(stateDir: string): readonly RunReport[] {
  try {
    const content = JSON.parse(readFileSync(runFile(stateDir), 'utf8')) as {
      version?: unknown;
      runs?: unknown;
    };
    return content.version === 1 && Array.isArray(content.runs) ? (content.runs as RunReport[]) : [];
  } catch {
    return [];
  }
}

/** Puts a run on top of the file; the file appears whole or not at all. */
export function appendRunFile(stateDir: string, run: RunReport): void {
  const others = readRunFile(stateDir).filter((other) => other.runId !== run.runId);
  writeFileAtomically(
    runFile(stateDir),
    JSON.stringify({ version: 1, runs: [run, ...others].slice(0, KEPT_RUNS) }),
  );
}

/** Writes a small file of the state folder (0600) by rename after fsync. */
export function writeFileAtomically(file: string, text: string): void {
  const temporary = `${file}.tmp`;
  const descriptor = openSync(temporary, 'w', 0o600);
  try {
    writeSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(temporary, file);
}

function runFile(stateDir: string): string {
  return join(stateDir, 'runs.json');
}
