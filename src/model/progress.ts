import type { ErrorCode } from './errors.ts';
import type { SentRequest } from './sent-request.ts';
import type { WaitReason } from './quota.ts';
import type { RunReport, StreamReport } from './run-report.ts';

/** What a run reports while it works; values only, so that any display can draw them. */
export type ProgressEvent =
  | { readonly type: 'run-started'; readonly runId: string; readonly streams: readonly string[] }
  | {
      readonly type: 'stream-started';
      readonly stream: string;
      readonly mode: 'full' | 'incremental';
      readonly from?: string;
    }
  | {
      readonly type: 'stream-resumed';
      readonly stream: string;
      readonly pagesHeld: number;
      readonly rowsHeld: number;
    }
  | { readonly type: 'stream-restarted'; readonly stream: string; readonly reason: string }
  | {
      readonly type: 'page-staged';
      readonly stream: string;
      readonly pagesDone: number;
      readonly pagesPlanned: number | undefined;
      readonly rowsDone: number;
      readonly rowsDeclared: number | undefined;
    }
  /** One try of a request ended; retries come as events of their own. */
  | ({ readonly type: 'request-ended' } & SentRequest)
  | { readonly type: 'stream-loading'; readonly stream: string; readonly rows: number }
  /** Its transaction begins; where something else must take its place, no `stream-committed` follows. */
  | { readonly type: 'stream-committing'; readonly stream: string }
  | { readonly type: 'stream-committed'; readonly stream: string }
  | { readonly type: 'stream-finished'; readonly report: StreamReport }
  | { readonly type: 'waiting'; readonly reason: WaitReason; readonly untilMs: number }
  | { readonly type: 'resumed' }
  | {
      readonly type: 'quota';
      readonly remaining: number;
      readonly limit: number;
      readonly resetAtMs: number;
      /** Length of the window, ms. */
      readonly windowMs?: number;
    }
  | { readonly type: 'warning'; readonly stream?: string; readonly message: string }
  | { readonly type: 'note'; readonly stream?: string; readonly message: string }
  /** No stream is read any more in this run; what was committed is published next. */
  | { readonly type: 'reading-finished' }
  | { readonly type: 'publishing'; readonly path: string }
  | { readonly type: 'published'; readonly path: string; readonly bytes: number }
  /** This destination keeps what it had; the run's error says why. */
  | { readonly type: 'publish-failed'; readonly path: string; readonly code: ErrorCode }
  | { readonly type: 'run-finished'; readonly report: RunReport };

export type OnProgress = (event: ProgressEvent) => void;
