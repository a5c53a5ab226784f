import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { makeStateFolder } from '../../state/lock.ts';
import { hasRefusedFile, readRefusedFile, writeRefusedFile } from '../../state/refused-file.ts';
import { readRunFile } from '../../state/run-file.ts';
import type { ErrorCode } from '../model/errors.ts';
import { countRefusal, isOutdated, type RefusedRun } from '../model/refused-run.ts';
import { isSync, type RunReport } from '../model/run-report.ts';

/** Where a refused sync is recorded. `guessed`: the config is not certain, so nothing is created there. */
export interface RefusalPlace {
  readonly stateDir: string;
  readonly guessed: boolean;
}

/** Records why a sync was refused. Never throws: if the disk fails here as well, the error is already about it. */
export function keepRefusal(
  { stateDir, guessed }: RefusalPlace,
  refused: Pick<RefusedRun, 'startedAt' | 'error'>,
): void {
  try {
    if (refused.error.code === 'usage_invalid') return;
    if (guessed && !existsSync(join(stateDir, 'lock.sqlite'))) return;
    makeStateFolder(stateDir);
    const kept = countRefusal(findRefusal(stateDir), refused);
    if (kept !== undefined) writeRefusedFile(stateDir, kept);
  } catch {
    // Its exit code and message already say why it was refused.
  }
}

/**
 * Deletes a refused sync that a later sync supersedes or whose cause is fixed, and reserves space for the next one.
 * Never throws.
 */
export function settleRefusal(stateDir: string, repaired: readonly ErrorCode[] = []): void {
  try {
    const kept = readRefusedFile(stateDir);
    const isNews =
      kept !== undefined && !repaired.includes(kept.error.code) && findRefusal(stateDir) !== undefined;
    if (isNews || (kept === undefined && hasRefusedFile(stateDir))) return;
    writeRefusedFile(stateDir, undefined);
  } catch {
    // Readers notice that the file is outdated.
  }
}

/** The last refused sync, unless a recorded sync is newer. */
export function findRefusal(
  stateDir: string,
  runs: readonly RunReport[] = readRunFile(stateDir),
): RefusedRun | undefined {
  const refused = withoutUsage(readRefusedFile(stateDir));
  const last = runs.find(isSync);
  return refused !== undefined && last !== undefined && isOutdated(refused, last) ? undefined : refused;
}

/** A mistyped command line says nothing about the data; earlier versions kept one. */
function withoutUsage(refused: RefusedRun | undefined): RefusedRun | undefined {
  return refused?.error.code === 'usage_invalid' ? undefined : refused;
}
