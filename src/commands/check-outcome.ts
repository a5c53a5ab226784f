import { type SyncError, toSyncError } from '../model/errors.ts';
import type { CheckItem } from '../model/reports.ts';

/** One line of a check, and the failure behind it. */
export interface Outcome {
  readonly item: CheckItem;
  readonly error: SyncError | undefined;
  /** A stream that has a table and that the API no longer has. */
  readonly isGone?: true;
}

export async function attempt(name: string, check: () => Promise<CheckItem>): Promise<Outcome> {
  try {
    return { item: await check(), error: undefined };
  } catch (thrown) {
    const error = toSyncError(thrown);
    return { item: { name, status: 'failed', detail: error.message, fix: error.hint }, error };
  }
}

export function okItem(name: string, detail: string): CheckItem {
  return { name, status: 'ok', detail, fix: undefined };
}

export function warningItem(name: string, detail: string): CheckItem {
  return { name, status: 'warning', detail, fix: undefined };
}
