import { BugError } from '../model/errors.ts';
import type { Instead } from '../run/step.ts';
import type { PlannedScan } from '../run/turn.ts';
import type { ScanPlan } from '../plan/scan-plan.ts';

/** One attempt at a stream: a scan, and how often it was restarted already because its data moved. */
export interface Attempt extends PlannedScan {
  readonly rescans: number;
}

/** What follows an attempt that something else must replace. */
export type Next =
  /** The stream is done without a scan. */
  | { readonly kind: 'end'; readonly because: string }
  /** The same scan again. */
  | { readonly kind: 'restart'; readonly because: string; readonly attempt: Attempt }
  /** Another scan; `because` if a person should know. */
  | { readonly kind: 'replan'; readonly because: string | undefined; readonly attempt: Attempt };

/**
 * Decides what follows; pure. It ends: a scan is restarted at most `MAX_RESCANS` times, outdated pages give way to the
 * planned scan, and an incremental scan to a full one, which only its own restarts replace.
 *
 * @param planned the scan that was planned for the stream
 */
export function nextAttempt(planned: PlannedScan, attempt: Attempt, instead: Instead): Next {
  const { stream, plan, checkpoint, rescans } = attempt;
  switch (instead.kind) {
    case 'unchanged':
      return { kind: 'end', because: instead.because };
    case 'moved':
      return { kind: 'restart', because: instead.because, attempt: { ...attempt, rescans: rescans + 1 } };
    case 'stage-outdated':
      return { kind: 'replan', because: undefined, attempt: { ...planned, rescans: 0 } };
    case 'full-refresh': {
      const full: ScanPlan = {
        mode: 'full',
        from: undefined,
        trial: false,
        reason: instead.because,
        warnings: [],
        isBroughtForward: instead.isBroughtForward,
        readsAll: true,
      };
      if (plan.mode === 'full')
        throw new BugError(`${stream.name}: a full scan asked for a full scan`, {
          code: 'bug',
          hint: 'Please report it. Nothing was changed.',
        });
      const known = checkpoint && { ...checkpoint, ...instead.forget };
      return {
        kind: 'replan',
        because: instead.because,
        attempt: { stream, plan: full, checkpoint: known, rescans: 0 },
      };
    }
  }
}
