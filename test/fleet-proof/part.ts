import type { Stage } from './scene.ts';
import type { Verdicts } from './verdicts.ts';

export interface PartRun {
  readonly stage: Stage;
  readonly verdicts: Verdicts;
  /** With all accounts and steps, not a sample. */
  readonly isLarge: boolean;
}

/** One of the proofs. */
export type ProofPart = (run: PartRun) => Promise<void>;
