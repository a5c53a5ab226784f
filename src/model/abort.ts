import { AbortedError, SyncError } from './errors.ts';

/** Throws the caller's own error when its signal has aborted, else an AbortedError. */
export function assertNotAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw toAbortError(signal);
}

/** The error of an aborted signal: its reason if that is an error of ours. */
export function toAbortError(signal: AbortSignal): SyncError {
  const reason: unknown = signal.reason;
  if (reason instanceof SyncError) return reason;
  return new AbortedError('the run was interrupted', {
    code: 'aborted',
    hint: 'Nothing is left half done. Run the same command again to continue.',
    cause: reason,
  });
}
