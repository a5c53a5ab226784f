import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { waitReasons } from '../src/model/quota.ts';
import type { RunUnderWay } from '../src/model/run-under-way.ts';

const fileSchema = z.object({
  version: z.literal(1),
  run: z.object({
    runId: z.string(),
    toldAt: z.iso.datetime(),
    requests: z.int().default(0),
    streams: z.array(
      z.object({
        stream: z.string(),
        state: z.enum(['queued', 'reading', 'loading', 'finished']),
        pagesDone: z.int(),
        pagesPlanned: z.int().optional(),
        rowsDone: z.int(),
        rowsDeclared: z.int().optional(),
      }),
    ),
    waiting: z.object({ reason: z.enum(waitReasons), until: z.iso.datetime() }).optional(),
    quota: z.object({ remaining: z.number(), limit: z.number(), resetAtMs: z.number() }).optional(),
  }),
});

/** Progress of the run with that id; undefined if it is not known. */
export function readProgressFile(stateDir: string, runId: string): RunUnderWay | undefined {
  try {
    const { run } = fileSchema.parse(JSON.parse(readFileSync(progressFile(stateDir), 'utf8')));
    if (run.runId !== runId) return undefined;
    const streams = run.streams.map((stream) => ({
      ...stream,
      pagesPlanned: stream.pagesPlanned,
      rowsDeclared: stream.rowsDeclared,
    }));
    return { ...run, streams, waiting: run.waiting, quota: run.quota };
  } catch {
    return undefined;
  }
}

/** Records the progress of a run. Never throws and does not sync to disk: it is only for users who look at it now. */
export function writeProgressFile(stateDir: string, run: RunUnderWay): void {
  const file = progressFile(stateDir);
  try {
    writeFileSync(`${file}.tmp`, JSON.stringify({ version: 1, run }), { mode: 0o600 });
    renameSync(`${file}.tmp`, file);
  } catch {
    // A full disk is reported by writes that matter.
  }
}

export function removeProgressFile(stateDir: string): void {
  try {
    rmSync(progressFile(stateDir), { force: true });
  } catch {
    // A leftover file refers to a run that has ended, so it is ignored.
  }
}

function progressFile(stateDir: string): string {
  return join(stateDir, 'progress.json');
}
