import type { OnProgress } from '../../model/progress.ts';

/** Shows what a run tells, until it is closed. */
export interface ProgressDisplay {
  readonly onProgress: OnProgress;
  /** Leaves the last picture standing and stops drawing; closing twice is closing once. */
  close(): void;
}
