import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { makeStateFolder } from '../../state/lock.ts';
import { hasRefusedFile, readRefusedFile, writeRefusedFile } from '../../state/refused-file.ts';
import { readRunFile } from '../../state/run-file.ts';
import type { ErrorCode } from '../model/errors.ts';
import { countRefusal, isOutdated, type RefusedRun } from '../model/refused-run.ts';
import { isSync, type RunReport } from '../model/run-report.ts';

/** Where a refused sync is kept. `guessed`: the config does not tell for sure, so that nothing is made there. */
export interface RefusalPlace {
  readonly stateDir: string;
  readonly guessed: boolean;
}

/**
 * Keeps what a sync was refused for, for people who look later. Never throws: the disk that refuses this as well is
 * what the error is about.
 */
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
    // What it was refused for is told by its own exit code and message.
  }
}

/**
 * Forgets the refused sync that a sync on record has outdated, or whose cause is mended, and keeps room for the next.
 * Never throws.
 */
export function settleRefusal(stateDir: string, mended: readonly ErrorCode[] = []): void {
  try {
    const kept = readRefusedFile(stateDir);
    const isNews =
      kept !== undefined && !mended.includes(kept.error.code) && findRefusal(stateDir) !== undefined;
    if (isNews || (kept === undefined && hasRefusedFile(stateDir))) return;
    writeRefusedFile(stateDir, undefined);
  } catch {
    // A file that is outdated is known to be so by whoever reads it.
  }
}

/** The sync that was refused last, unless one that is on record tells more. */
export function findRefusal(
  stateDir: string,
  runs: readonly RunReport[] = readRunFile(stateDir),
): RefusedRun | undefined {
  const refused = withoutUsage(readRefusedFile(stateDir));
  const last = runs.find(isSync);
  return refused !== undefined && last !== undefined && isOutdated(refused, last) ? undefined : refused;
}

/** A mistyped command line says nothing of the data; earlier versions kept one. */
function withoutUsage(refused: RefusedRun | undefined): RefusedRun | undefined {
  return refused?.error.code === 'usage_invalid' ? undefined : refused;
}
