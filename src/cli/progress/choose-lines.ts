import type { ProgressEvent } from '../../model/progress.ts';
import { SHORT_WAIT_MS } from '../../render/describe-wait.ts';
import { measureShare } from './measure-share.ts';

/** What later lines need to know of those already written. */
export interface LineMemory {
  readonly pages: Readonly<Record<string, { readonly atMs: number; readonly share: number }>>;
  /** End of the wait that a line announced; undefined while none is announced. */
  readonly waitUntilMs: number | undefined;
}

export const emptyLineMemory: LineMemory = { pages: {}, waitUntilMs: undefined };

const LEAST_GAP_MS = 1_000;
const LONGEST_GAP_MS = 15_000;
const SHARE_STEP = 0.1;

/**
 * Whether an event gets a line in the plain log. Pages get one line per tenth of the stream, at most one per
 * second and at least one once in a while; waits get one if they are long enough.
 */
export function chooseLine(
  memory: LineMemory,
  event: ProgressEvent,
  nowMs: number,
): { readonly memory: LineMemory; readonly due: boolean } {
  if (event.type === 'page-staged') return choosePage(memory, event, nowMs);
  if (event.type === 'waiting') return chooseWait(memory, event.untilMs, nowMs);
  if (event.type !== 'resumed') return { memory, due: true };
  return { memory: { ...memory, waitUntilMs: undefined }, due: memory.waitUntilMs !== undefined };
}

function chooseWait(memory: LineMemory, untilMs: number, nowMs: number) {
  if (untilMs - nowMs < SHORT_WAIT_MS) return { memory, due: false };
  const { waitUntilMs } = memory;
  const due = waitUntilMs === undefined || Math.abs(untilMs - waitUntilMs) > LEAST_GAP_MS;
  return { memory: due ? { ...memory, waitUntilMs: untilMs } : memory, due };
}

function choosePage(memory: LineMemory, event: ProgressEvent & { type: 'page-staged' }, nowMs: number) {
  const share = measureShare(event);
  const last = memory.pages[event.stream];
  const entry = { atMs: nowMs, share };
  const isOnly = event.pagesPlanned === 1;
  if (last === undefined) {
    // A page that arrives in parts gets a line when it is complete, or takes long.
    return { memory: remember(memory, event.stream, entry), due: !isOnly || share >= 1 };
  }
  if (isOnly && share >= 1 && last.share < 1)
    return { memory: remember(memory, event.stream, entry), due: true };
  // A restarted scan counts from zero.
  const step = Math.abs(share - last.share);
  const gapMs = nowMs - last.atMs;
  const due = gapMs >= LONGEST_GAP_MS || (gapMs >= LEAST_GAP_MS && step >= SHARE_STEP);
  return { memory: due ? remember(memory, event.stream, entry) : memory, due };
}

function remember(memory: LineMemory, stream: string, entry: LineMemory['pages'][string]): LineMemory {
  return { ...memory, pages: { ...memory.pages, [stream]: entry } };
}
