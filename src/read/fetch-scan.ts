import type { Page } from '../model/page.ts';
import type { RunContext } from '../run/run-context.ts';
import type { FetchedScan } from '../run/scan.ts';
import type { Turn } from '../run/turn.ts';
import { ChainedScan } from './chained-scan.ts';
import { fetchDocument } from './fetch-document.ts';
import { MAX_RESCANS, OffsetScan } from './offset-scan.ts';
import type { StageFollower } from '../stage/scan-stage.ts';

/** How a scan is read, apart from what it asks for. */
export interface ReadOptions {
  /** Called with the first page before it is staged; what it throws ends the scan. */
  readonly onFirstPage: (page: Page) => void;
  /** Restarts that count already. */
  readonly rescansBefore?: number;
  readonly follower?: StageFollower;
}

/**
 * Reads every page of a scan and stages it. Continues from what an earlier process staged if the head page is
 * unchanged. Restarts at most twice if the data moves during the scan, then keeps what it has with the verdict
 * `drifted`. A scan that needs more than a day's quota is never restarted: the data would move again before its end.
 */
export async function fetchScan(
  context: RunContext,
  turn: Turn,
  { onFirstPage, rescansBefore = 0, follower }: ReadOptions,
): Promise<FetchedScan> {
  const { stream } = turn;
  if (!stream.paginated) return fetchDocument(context, turn, onFirstPage);
  for (let rescans = rescansBefore; ; rescans += 1) {
    const isChained = context.settings.connector.paging.kind === 'cursor';
    const Scan = isChained ? ChainedScan : OffsetScan;
    const scan = new Scan(context, turn, rescans, follower);
    try {
      const fetched = await scan.run(onFirstPage);
      const reason = findReasonToRestart(fetched, scan.isReadAgain);
      if (reason === undefined || rescans >= MAX_RESCANS) return fetched;
      context.emit({ type: 'stream-restarted', stream: stream.name, reason });
    } finally {
      await scan.close();
    }
  }
}

function findReasonToRestart({ cause, reasons }: FetchedScan, isReadAgain: boolean): string | undefined {
  if (cause === 'moved') return reasons[0] ?? 'the data moved';
  return isReadAgain ? 'the data may have been refreshed while its pages were read' : undefined;
}
