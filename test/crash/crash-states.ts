import { createHash } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { hookSteps, type Step } from '../support/io-steps.ts';
import { makeFolder } from '../support/sync-harness.ts';

/** What a kill at some step leaves on the disk. */
export interface CrashState {
  /** The step that was about to be made. */
  readonly step: Step | undefined;
  /** A copy of the project's folder as it was then. */
  readonly folder: string;
  /** How many requests the API had seen. */
  readonly requests: number;
}

/**
 * Runs `work` and keeps a copy of the folder before each of its steps, and one at the end: what a kill leaves
 * behind is exactly what is in the files at that moment. States that differ in no byte are kept once.
 */
export async function collectCrashStates(
  folder: string,
  work: () => Promise<unknown>,
  countRequests: () => number,
): Promise<readonly CrashState[]> {
  const states: CrashState[] = [];
  const seen = new Set<string>();
  const keep = (step?: Step) => {
    const hash = hashFolder(folder);
    if (seen.has(hash)) return;
    seen.add(hash);
    const copy = makeFolder();
    cpSync(folder, copy, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
    states.push({ step, folder: copy, requests: countRequests() });
  };
  const undo = await hookSteps({ before: keep }, (path) => path.startsWith(folder));
  try {
    await work();
  } finally {
    undo();
  }
  keep();
  return states;
}

/** Runs `work` and makes the folder then what a kill before the first step of a name would have left. */
export async function killBefore(step: string, folder: string, work: () => Promise<unknown>): Promise<void> {
  let copy: string | undefined;
  const before = ({ name }: Step) => {
    if (name !== step || copy !== undefined) return;
    copy = makeFolder();
    cpSync(folder, copy, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
  };
  const undo = await hookSteps({ before }, (path) => path.startsWith(folder));
  await work().finally(undo);
  if (copy === undefined) throw new Error(`there was no step ${step}`);
  replaceFolder(folder, copy);
}

/** Makes a folder what it was in a crash state. */
export function restoreCrashState(state: CrashState, folder: string): void {
  replaceFolder(folder, state.folder);
}

/** Keeps a copy of a folder; what it returns makes the folder that again. */
export function keepFolder(folder: string): () => void {
  const copy = makeFolder();
  cpSync(folder, copy, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
  return () => replaceFolder(folder, copy);
}

function replaceFolder(folder: string, by: string): void {
  rmSync(folder, { recursive: true });
  cpSync(by, folder, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
}

function hashFolder(folder: string): string {
  const hash = createHash('sha256');
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    hash.update(`\n${relative(folder, path)}\n`);
    // A file may go while the folder is read: so it may in a kill.
    if (entry.isSymbolicLink()) hash.update(readlinkSync(path));
    if (entry.isFile() && existsSync(path)) hash.update(statSync(path).size > 0 ? readFileSync(path) : '');
  }
  return hash.digest('hex');
}
