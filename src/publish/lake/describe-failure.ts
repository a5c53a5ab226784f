import { sep } from 'node:path';
import { AbortedError, PublishError, SyncError } from '../../model/errors.ts';

/**
 * The error that ends a publish. An engine error about a file of the lake is a publish error, not a defect and not
 * damage of the open work file.
 *
 * @param hasFlipped whether readers may already see the new rows
 */
export function describeFailure(lake: string, thrown: unknown, hasFlipped: boolean): SyncError {
  if (thrown instanceof SyncError && !isAboutLake(lake, thrown)) return thrown;
  const cause = thrown instanceof SyncError ? thrown.cause : thrown;
  return new PublishError(`cannot publish the lake ${lake}: ${toText(cause)}`, {
    code: 'publish_failed',
    hint: `Everything synced is committed in the state folder. ${describeReaders(hasFlipped)} Fix the cause (disk space, permissions, the file named above) and run again: publishing needs no request.`,
    context: { path: lake },
    cause: thrown,
  });
}

/** What readers see after a publish that failed. */
export function describeReaders(hasFlipped: boolean): string {
  return hasFlipped
    ? 'Readers of `current` may already see the new rows, before readers of lake.duckdb do; each sees consistent data.'
    : 'Readers of the lake see what they saw before.';
}

function isAboutLake(lake: string, error: SyncError): boolean {
  const isOfEngine =
    !(error instanceof PublishError || error instanceof AbortedError) && error.cause instanceof Error;
  return isOfEngine && toText(error.cause).includes(`${lake}${sep}`);
}

/** The engine's message without the statement that it may quote. */
function toText(cause: unknown): string {
  return (cause instanceof Error ? cause.message : String(cause)).split('\n\nLINE ', 1)[0] ?? '';
}
