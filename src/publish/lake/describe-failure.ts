import { sep } from 'node:path';
import { AbortedError, PublishError, SyncError } from '../../model/errors.ts';

/**
 * The error that ends a publish. What the engine says of a file of the lake is the lake's trouble and nobody
 * else's: neither a defect nor damage of the work file it has open.
 *
 * @param hasFlipped whether readers may see the new rows already
 */
export function describeFailure(lake: string, thrown: unknown, hasFlipped: boolean): SyncError {
  if (thrown instanceof SyncError && !isAboutLake(lake, thrown)) return thrown;
  const cause = thrown instanceof SyncError ? thrown.cause : thrown;
  const readers = hasFlipped
    ? 'Readers of `current` may see the new rows already, before those of lake.duckdb do; what each sees is whole.'
    : 'Readers of the lake see what they saw before.';
  return new PublishError(`cannot publish the lake ${lake}: ${toText(cause)}`, {
    code: 'publish_failed',
    hint: `Everything synced is committed in the state folder. ${readers} Mend the cause (space, permissions, the file that is named) and run again: publishing needs no request.`,
    context: { path: lake },
    cause: thrown,
  });
}

function isAboutLake(lake: string, error: SyncError): boolean {
  const isOfEngine =
    !(error instanceof PublishError || error instanceof AbortedError) && error.cause instanceof Error;
  return isOfEngine && toText(error.cause).includes(`${lake}${sep}`);
}

/** What an engine says, without the statement that it may quote below. */
function toText(cause: unknown): string {
  return (cause instanceof Error ? cause.message : String(cause)).split('\n\nLINE ', 1)[0] ?? '';
}
