import type { WaitReason } from './quota.ts';

/** The progress of a current run, for people who watch from elsewhere. */
export interface RunUnderWay {
  readonly runId: string;
  /** ISO time of this progress. */
  readonly toldAt: string;
  /** Requests that have ended, retries included; 0 in files of earlier versions. */
  readonly requests: number;
  readonly streams: readonly StreamUnderWay[];
  /** What it waits for, and until when (ISO); undefined while it works. */
  readonly waiting: { readonly reason: WaitReason; readonly until: string } | undefined;
  readonly quota:
    { readonly remaining: number; readonly limit: number; readonly resetAtMs: number } | undefined;
}

/** One stream, or slice of one, of a current run. */
export interface StreamUnderWay {
  readonly stream: string;
  readonly state: 'queued' | 'reading' | 'loading' | 'finished';
  readonly pagesDone: number;
  readonly pagesPlanned: number | undefined;
  readonly rowsDone: number;
  readonly rowsDeclared: number | undefined;
}
