import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { ExitCode } from '../src/model/errors.ts';
import type { RunReport } from '../src/model/run-report.ts';
import { writeFileAtomically } from './run-file.ts';

const count = z.number().nonnegative();
const rowTotalsSchema = z.object({
  stream: z.string(),
  slice: z.string(),
  read: count,
  inserted: count,
  updated: count,
  deleted: count,
  quarantined: count,
});
const runTotalsSchema = z.object({
  version: z.literal(1),
  /** Runs by exit code. */
  runs: z.record(z.string(), count),
  requests: count,
  retries: count,
  rateLimited: count,
  waitedMs: count,
  lastSuccessAt: z.string().optional(),
  streams: z.array(rowTotalsSchema),
});

/** Totals over all runs since metrics were first enabled; counters that survive restarts. */
export type RunTotals = z.infer<typeof runTotalsSchema>;
export type RowTotals = z.infer<typeof rowTotalsSchema>;

export const noTotals: RunTotals = {
  version: 1,
  runs: {},
  requests: 0,
  retries: 0,
  rateLimited: 0,
  waitedMs: 0,
  streams: [],
};

/** Adds a run to the totals; `report` is undefined for a run that could not start. */
export function addRun(totals: RunTotals, exitCode: ExitCode, report: RunReport | undefined): RunTotals {
  const runs = { ...totals.runs, [exitCode]: (totals.runs[exitCode] ?? 0) + 1 };
  if (report === undefined) return { ...totals, runs };
  const lastSuccessAt = exitCode === 0 ? report.finishedAt : totals.lastSuccessAt;
  return {
    version: 1,
    runs,
    requests: totals.requests + report.requests,
    retries: totals.retries + report.retries,
    rateLimited: totals.rateLimited + report.rateLimited,
    waitedMs: totals.waitedMs + report.waitedMs,
    ...(lastSuccessAt !== undefined && { lastSuccessAt }),
    streams: addRows(totals.streams, report),
  };
}

function addRows(before: readonly RowTotals[], { streams }: RunReport): RowTotals[] {
  const sums = new Map(before.map((row) => [nameOf(row), row]));
  for (const { stream, slice, rows } of streams) {
    const sum = sums.get(nameOf({ stream, slice }));
    sums.set(nameOf({ stream, slice }), {
      stream,
      slice,
      read: (sum?.read ?? 0) + rows.read,
      inserted: (sum?.inserted ?? 0) + rows.inserted,
      updated: (sum?.updated ?? 0) + rows.updated,
      deleted: (sum?.deleted ?? 0) + rows.deleted,
      quarantined: (sum?.quarantined ?? 0) + rows.quarantined,
    });
  }
  return [...sums.values()];
}

function nameOf({ stream, slice }: Pick<RowTotals, 'stream' | 'slice'>): string {
  return JSON.stringify([stream, slice]);
}

/** The totals so far; they restart at zero if the file is missing or damaged, as counters may. */
export function readRunTotals(stateDir: string): RunTotals {
  try {
    const content: unknown = JSON.parse(readFileSync(fileIn(stateDir), 'utf8'));
    return runTotalsSchema.safeParse(content).data ?? noTotals;
  } catch {
    return noTotals;
  }
}

/** Saves the totals for the next run; the folder must exist. */
export function writeRunTotals(stateDir: string, totals: RunTotals): void {
  writeFileAtomically(fileIn(stateDir), JSON.stringify(totals));
}

function fileIn(stateDir: string): string {
  return join(stateDir, 'totals.json');
}
