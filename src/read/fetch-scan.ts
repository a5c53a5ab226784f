import type { Reading } from '../run/run-context.ts';
import type { FetchedScan } from '../run/scan.ts';
import { type JudgeFirstPage, MAX_RESCANS, type Step } from '../run/step.ts';
import type { Turn } from '../run/turn.ts';
import { fetchDocument } from './fetch-document.ts';
import { walkOf, type WalkOptions } from './page-walks.ts';

/** How a scan is read, apart from what it asks for. */
export interface ReadOptions extends WalkOptions {
  readonly judgeFirstPage: JudgeFirstPage;
}

/**
 * Reads every page of a scan and stages it. Continues from what an earlier process staged if the head page is
 * unchanged. If the data moves during the scan, another attempt must take its place; the last one keeps what it has,
 * with the verdict `drifted`. A scan that needs more than a day's quota is never restarted: the data would move again
 * before its end.
 */
export async function fetchScan(
  context: Reading,
  turn: Turn,
  { judgeFirstPage, rescans, follower }: ReadOptions,
): Promise<Step<FetchedScan>> {
  if (!turn.stream.paginated) return fetchDocument(context, turn, judgeFirstPage);
  const walk = walkOf(context.source.connector.paging);
  const scan = walk.open(context, turn, { rescans, follower });
  try {
    const step = await scan.run(judgeFirstPage);
    if ('instead' in step || rescans >= MAX_RESCANS) return step;
    const because = findReasonToRestart(step.done, scan.isReadAgain);
    return because === undefined ? step : { instead: { kind: 'moved', because } };
  } finally {
    await scan.close();
  }
}

function findReasonToRestart({ cause, reasons }: FetchedScan, isReadAgain: boolean): string | undefined {
  if (cause === 'moved') return reasons[0] ?? 'the data moved';
  return isReadAgain ? 'the data may have been refreshed while its pages were read' : undefined;
}
