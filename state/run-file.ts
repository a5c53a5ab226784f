import { accessSync, constants, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDiskFull } from '../src/files/disk-full.ts';
import { parseSummedJson, toSummedJson } from '../src/files/summed-json.ts';
import { writeWholeSync } from '../src/files/write-whole.ts';
import type { RunReport } from '../src/model/run-report.ts';
import { readProgressFile } from './progress-file.ts';
import { keepSpare, measureSpare, writeIntoSpare } from './spare-file.ts';

const KEPT_RUNS = 50;

/**
 * The last runs, newest first, from the small file that also has runs that never reached the warehouse (a rejected
 * key, a full disk). An unreadable or damaged file counts as an empty history: its runs correct those of the warehouse.
 */
export function readRunFile(stateDir: string): readonly RunReport[] {
  try {
    const content = parseSummedJson(readFileSync(runFile(stateDir), 'utf8')) as {
      version?: unknown;
      runs?: unknown;
    };
    return content.version === 1 && Array.isArray(content.runs) ? content.runs.filter(isRunReport) : [];
  } catch {
    return [];
  }
}

/** Why this user cannot read the records of a state folder; undefined if that is possible, or if there are none. */
export function findUnreadable(stateDir: string): string | undefined {
  const { R_OK, X_OK } = constants;
  for (const [place, mode] of [
    [stateDir, R_OK | X_OK],
    [runFile(stateDir), R_OK],
  ] as const) {
    try {
      accessSync(place, mode);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      return code === 'ENOENT' ? undefined : message;
    }
  }
  return undefined;
}

// Checks the fields that readers rely on, or that are written to the warehouse; the others are only shown.
function isRunReport(value: unknown): value is RunReport {
  const run = (value ?? {}) as Partial<Record<keyof RunReport, unknown>>;
  const { runId, status, requests, retries, waitedMs, streams } = run;
  return (
    [runId, status].every((text) => typeof text === 'string') &&
    [requests, retries, waitedMs].every(Number.isFinite) &&
    hasTimesAndRows(run) &&
    Array.isArray(streams) &&
    streams.every((stream) => isObject(stream) && hasTimesAndRows(stream))
  );
}

function hasTimesAndRows({
  startedAt,
  finishedAt,
  rows,
}: Partial<Record<keyof RunReport, unknown>>): boolean {
  return (
    [startedAt, finishedAt].every((time) => !Number.isNaN(Date.parse(String(time)))) &&
    isObject(rows) &&
    Object.values(rows).every(Number.isFinite)
  );
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** Marks runs that never recorded their end as killed; call while the state lock is held. */
export function closeKilledRunsInFile(stateDir: string): void {
  const runs = readRunFile(stateDir);
  if (!runs.some(({ status }) => status === 'running')) return;
  writeRunFile(
    stateDir,
    runs.map((run) => (run.status === 'running' ? describeKilled(stateDir, run) : run)),
  );
}

/** A run that never recorded its end, with what its progress says of its requests and of the quota. */
export function describeKilled(stateDir: string, run: RunReport): RunReport {
  const progress = readProgressFile(stateDir, run.runId);
  return {
    ...run,
    status: 'killed',
    requests: Math.max(run.requests, progress?.requests ?? 0),
    quota: progress?.quota === undefined ? run.quota : { ...progress.quota, notBeforeMs: undefined },
  };
}

/** Sets times of runs after `limit` (ISO) to `limit`: they were recorded by a clock that was ahead. */
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

/** Adds a run at the top of the file, which is replaced atomically. */
export function appendRunFile(stateDir: string, run: RunReport): void {
  const others = readRunFile(stateDir).filter((other) => other.runId !== run.runId);
  writeRunFile(stateDir, [run, ...others]);
}

/** Adds a run that begins, and keeps disk space to record how it ended. */
export function beginRunFile(stateDir: string, run: RunReport): void {
  appendRunFile(stateDir, run);
  keepSpare(runFile(stateDir));
}

function writeRunFile(stateDir: string, runs: readonly RunReport[]): void {
  const file = runFile(stateDir);
  try {
    writeFileAtomically(file, toText(runs.slice(0, KEPT_RUNS)));
  } catch (thrown) {
    // A run that failed as the disk is full must not look like one that was killed. The space is for its end alone.
    const mayUseSpare = isDiskFull(thrown) && !runs.some(({ status }) => status === 'running');
    const fitting = mayUseSpare ? takeFitting(runs, measureSpare(file)) : undefined;
    if (fitting === undefined) throw thrown;
    writeIntoSpare(file, fitting);
  }
}

/** As many of the newest runs as fit, as text; undefined if not even the newest does. */
function takeFitting(runs: readonly RunReport[], bytes: number): string | undefined {
  for (let most = Math.min(KEPT_RUNS, runs.length); most > 0; most -= 1) {
    const text = toText(runs.slice(0, most));
    if (Buffer.byteLength(text) <= bytes) return text;
  }
  return undefined;
}

function toText(runs: readonly RunReport[]): string {
  return toSummedJson({ version: 1, runs });
}

/** Writes a small file of the state folder (0600) atomically. */
export function writeFileAtomically(file: string, text: string): void {
  writeWholeSync(file, text, { mode: 0o600 });
}

function runFile(stateDir: string): string {
  return join(stateDir, 'runs.json');
}
