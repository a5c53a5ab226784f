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

/** How far the run with that id has come; undefined where nobody can tell. */
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

/** Tells how far a run has come. Never throws, and waits for no disk: only people who look now read it. */
export function writeProgressFile(stateDir: string, run: RunUnderWay): void {
  const file = progressFile(stateDir);
  try {
    writeFileSync(`${file}.tmp`, JSON.stringify({ version: 1, run }), { mode: 0o600 });
    renameSync(`${file}.tmp`, file);
  } catch {
    // A disk that is full is told by what has to be on it.
  }
}

export function removeProgressFile(stateDir: string): void {
  try {
    rmSync(progressFile(stateDir), { force: true });
  } catch {
    // It names a run that has ended, and is not read again.
  }
}

function progressFile(stateDir: string): string {
  return join(stateDir, 'progress.json');
}
