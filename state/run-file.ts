import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
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
    return content.version === 1 && Array.isArray(content.runs) ? content.runs.filter(isRunReport) : [];
  } catch {
    return [];
  }
}

// What readers of the file rely on; the rest they only show.
function isRunReport(value: unknown): value is RunReport {
  const { runId, startedAt, rows, streams } = (value ?? {}) as Partial<Record<keyof RunReport, unknown>>;
  return (
    typeof runId === 'string' &&
    typeof startedAt === 'string' &&
    isObject(rows) &&
    Array.isArray(streams) &&
    streams.every(isObject)
  );
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** Marks the runs that never told their end; call while the state lock is held. */
export function closeKilledRunsInFile(stateDir: string): void {
  const runs = readRunFile(stateDir);
  if (!runs.some(({ status }) => status === 'running')) return;
  writeRunFile(
    stateDir,
    runs.map((run) => (run.status === 'running' ? { ...run, status: 'killed' } : run)),
  );
}

/** Sets times of runs that lie after `limit` (ISO) to it: the clock that recorded them was ahead. */
export function limitRunTimes(stateDir: string, limit: string): void {
  const runs = readRunFile(stateDir);
  const limited = runs.map((run) => ({
    ...run,
    startedAt: earlierOf(run.startedAt, limit),
    finishedAt: earlierOf(run.finishedAt, limit),
    streams: run.streams.map((stream) => ({
      ...stream,
      startedAt: earlierOf(stream.startedAt, limit),
      finishedAt: earlierOf(stream.finishedAt, limit),
    })),
  }));
  if (runs.length > 0) writeRunFile(stateDir, limited);
}

function earlierOf(time: string, limit: string): string {
  return time > limit ? limit : time;
}

/** Puts a run on top of the file; the file appears whole or not at all. */
export function appendRunFile(stateDir: string, run: RunReport): void {
  const others = readRunFile(stateDir).filter((other) => other.runId !== run.runId);
  writeRunFile(stateDir, [run, ...others]);
}

function writeRunFile(stateDir: string, runs: readonly RunReport[]): void {
  writeFileAtomically(runFile(stateDir), JSON.stringify({ version: 1, runs: runs.slice(0, KEPT_RUNS) }));
}

/** Writes a small file of the state folder (0600) by rename after fsync. */
export function writeFileAtomically(file: string, text: string): void {
  const temporary = `${file}.tmp`;
  const descriptor = openSync(temporary, 'w', 0o600);
  try {
    // Not `writeSync`: that may stop short on a full disk and not say so.
    writeFileSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(temporary, file);
}

function runFile(stateDir: string): string {
  return join(stateDir, 'runs.json');
}
