import type { OnProgress } from '../../model/progress.ts';

/** Shows the progress of a run, until it is closed. */
export interface ProgressDisplay {
  readonly onProgress: OnProgress;
  /** Stops drawing and leaves the last picture on the screen. Closing again does nothing. */
  close(): void;
}
