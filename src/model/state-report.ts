import type { RunReport } from './run-report.ts';
import type { Checkpoint } from './stream.ts';

/** What `state export` writes and `state import` reads: what each scan reached, without a secret. */
export interface ExportedState {
  readonly format: 'sluice-state';
  readonly version: 1;
  readonly exportedAt: string;
  readonly connector: string;
  readonly baseUrl: string;
  readonly checkpoints: readonly ExportedCheckpoint[];
}

/** A checkpoint with a fingerprint of itself and of the rows it covers. */
export interface ExportedCheckpoint extends Checkpoint {
  /** Missing if there is no table, and in exports of earlier versions. */
  readonly seal?: string | undefined;
}

/** What is known of a state, and from which file. */
export interface StateReport {
  readonly state: ExportedState;
  /** The published file, without a work file or while a run has it; the last commit may be missing from it. */
  readonly source: 'work file' | 'published file' | 'nothing';
  /** A run has the work file open. */
  readonly isInUse: boolean;
  readonly path: string;
}

/** What an import or a reset is about to do to one stream or slice, for people to confirm. */
export interface StateChange {
  readonly stream: string;
  readonly slice: string;
  readonly what: 'replaced' | 'forgotten';
  readonly watermarkBefore: string | undefined;
  readonly watermarkAfter: string | undefined;
  /** Rows of the table that is dropped; undefined if it stays. */
  readonly rowsDropped: number | undefined;
}

export interface StateChangeReport {
  readonly changes: readonly StateChange[];
  /** Nobody confirmed it, so nothing was done. */
  readonly cancelled: boolean;
  readonly warnings: readonly string[];
  readonly published: RunReport['published'];
}

/** Called before anything is changed. */
export type ConfirmChange = (
  changes: readonly StateChange[],
  warnings: readonly string[],
) => Promise<boolean>;
