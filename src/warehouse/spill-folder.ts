import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolders } from '../files/make-folders.ts';
import { isRunning } from '../model/is-running.ts';

const NAME = /^spill-(\d+)-[0-9a-f]{8}$/;
/** An engine may be of another container, whose processes cannot be looked at: what it spilled lately stays. */
const LATELY_MS = 3_600_000;

/** Those of engines of this process. */
const inUse = new Set<string>();

/**
 * Names a folder below `parent` for what one engine spills. Each needs one of its own: an engine removes all files of the
 * engine's kind from its folder when it ends, which may be long after it was closed. Removes what killed processes left.
 */
export function nameSpillFolder(parent: string): string {
  const own = `spill-${process.pid}-${randomUUID().slice(0, 8)}`;
  inUse.add(own);
  try {
    makeFolders(parent, 0o700);
    removeLeft(parent);
  } catch {
    // On a disk that cannot be written to, the engine says so once it has to spill.
  }
  return join(parent, own);
}

function removeLeft(parent: string): void {
  const left = readdirSync(parent).filter(isOfEndedProcess);
  if (left.length === 0) return;
  const nowMs = readTimeOf(parent);
  for (const folder of left.map((name) => join(parent, name)))
    if (nowMs - statSync(folder).mtimeMs > LATELY_MS) rmSync(folder, { recursive: true, force: true });
}

/** The time of the disk that holds a folder, which may be another machine's. */
function readTimeOf(parent: string): number {
  const folder = mkdtempSync(join(parent, 'time-'));
  const { mtimeMs } = statSync(folder);
  rmdirSync(folder);
  return mtimeMs;
}

function isOfEndedProcess(name: string): boolean {
  const pid = Number(NAME.exec(name)?.[1]);
  // A container that was restarted has the same process id again.
  if (pid === process.pid) return !inUse.has(name);
  return !Number.isNaN(pid) && !isRunning(pid);
}
