/** What the next scan of a stream asks for, and why. */
export interface ScanPlan {
  readonly mode: 'full' | 'incremental';
  /** ISO date sent as the cursor's parameter. */
  readonly from: string | undefined;
  /** The parameter is only tried: the response shows whether the API honours it. */
  readonly trial: boolean;
  readonly reason: string;
  readonly warnings: readonly string[];
  /** The scan resumes from staged pages; if they are outdated, a new scan is planned. */
  readonly goesOn?: true;
  /** A full refresh before its time, as a count or a new column asked for it. */
  readonly isBroughtForward?: boolean | undefined;
  /** Something showed that rows of the table are wrong: an unchanged first page does not end this scan. */
  readonly readsAll?: true;
}

export type StreamPlan =
  { readonly action: 'scan'; readonly scan: ScanPlan } | { readonly action: 'skip'; readonly reason: string };
