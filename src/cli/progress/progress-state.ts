import type { WaitReason } from '../../model/quota.ts';
import type { StreamUnderWay } from '../../model/run-under-way.ts';
import type { StreamReport } from '../../model/run-report.ts';

/** Everything needed to draw the display of a run. */
export interface ProgressState {
  readonly streams: readonly StreamProgress[];
  readonly quota: QuotaProgress | undefined;
  readonly wait: WaitProgress | undefined;
  /** Path being published, while it is. */
  readonly publishing: string | undefined;
  /** Time of the last event, and how much of the run until then was not spent waiting. */
  readonly lastEventAtMs: number;
  readonly activeMs: number;
  /** Pages read in this run, over all streams. */
  readonly pagesRead: number;
}

/** One stream's line. */
export interface StreamProgress extends StreamUnderWay {
  /** Rows an earlier run staged: they count as done, but not for this run's speed. */
  readonly rowsHeld: number;
  /** `activeMs` of the run when this stream began. */
  readonly beganAtActiveMs: number;
  readonly report: StreamReport | undefined;
}

export interface QuotaProgress {
  readonly remaining: number;
  readonly limit: number;
  readonly resetAtMs: number;
  readonly windowMs?: number | undefined;
}

export interface WaitProgress {
  readonly reason: WaitReason;
  readonly untilMs: number;
  readonly sinceMs: number;
}

/** The state before the first event. */
export function createProgressState(nowMs: number): ProgressState {
  return {
    streams: [],
    quota: undefined,
    wait: undefined,
    publishing: undefined,
    lastEventAtMs: nowMs,
    activeMs: 0,
    pagesRead: 0,
  };
}

/** A stream that has not begun. */
export function createStreamProgress(stream: string): StreamProgress {
  return {
    stream,
    state: 'queued',
    pagesDone: 0,
    pagesPlanned: undefined,
    rowsDone: 0,
    rowsDeclared: undefined,
    rowsHeld: 0,
    beganAtActiveMs: 0,
    report: undefined,
  };
}
