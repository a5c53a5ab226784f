import type { PagingDescription } from '../model/paging.ts';
import { orderOf } from '../orders/orders.ts';
import type { Walk } from '../orders/page-order.ts';
import type { Reading } from '../run/run-context.ts';
import type { FetchedScan } from '../run/scan.ts';
import type { JudgeFirstPage, Step } from '../run/step.ts';
import type { Turn } from '../run/turn.ts';
import type { StageFollower } from '../stage/scan-stage.ts';
import type { StagedPageEntry } from '../stage/stage-store.ts';
import { ChainedScan } from './chained-scan.ts';
import { OffsetScan } from './offset-scan.ts';

/** One pass over a stream that has pages; owns the stage's open files. */
export interface PageScan {
  run(judgeFirstPage: JudgeFirstPage): Promise<Step<FetchedScan>>;
  /** Whether the scan must be restarted, because the source may have been refreshed between its pages. */
  readonly isReadAgain: boolean;
  close(): Promise<void>;
}

/** How a scan is read in an attempt at it. */
export interface WalkOptions {
  /** How often this scan was restarted already because its data moved. */
  readonly rescans: number;
  readonly follower?: StageFollower | undefined;
}

/** A way from page to page. */
interface PageWalk {
  open(context: Reading, turn: Turn, options: WalkOptions): PageScan;
  /** Whether staged pages reach the end of their scan. */
  isReadToEnd(pages: readonly StagedPageEntry[]): boolean;
}

const walks: Readonly<Record<Walk, PageWalk>> = {
  overlapping: {
    open: (context, turn, options) => new OffsetScan(context, turn, options.rescans, options.follower),
    isReadToEnd(pages) {
      const total = pages.find(({ pageHash }) => pageHash !== undefined)?.total;
      return total === undefined || pages.reduce((sum, { rows }) => sum + rows, 0) >= total;
    },
  },
  chained: {
    open: (context, turn, options) => new ChainedScan(context, turn, options.rescans, options.follower),
    isReadToEnd: (pages) => pages.at(-1)?.next === undefined,
  },
};

/** How a scan is read in a connector's page order. */
export function walkOf(paging: PagingDescription): PageWalk {
  return walks[orderOf(paging).walk];
}
