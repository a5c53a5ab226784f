import type { WaitReason } from './quota.ts';

/** How far a run has come that goes on, for people who look from elsewhere. */
export interface RunUnderWay {
  readonly runId: string;
  /** ISO time of what is told here. */
  readonly toldAt: string;
  readonly streams: readonly StreamUnderWay[];
  /** What it waits for, and until when (ISO); undefined while it works. */
  readonly waiting: { readonly reason: WaitReason; readonly until: string } | undefined;
  readonly quota:
    { readonly remaining: number; readonly limit: number; readonly resetAtMs: number } | undefined;
}

/** One stream, or slice of one, of a run that goes on. */
export interface StreamUnderWay {
  readonly stream: string;
  readonly state: 'queued' | 'reading' | 'loading' | 'finished';
  readonly pagesDone: number;
  readonly pagesPlanned: number | undefined;
  readonly rowsDone: number;
  readonly rowsDeclared: number | undefined;
}
