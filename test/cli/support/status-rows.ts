import type { StreamStatusRow } from '../../../src/model/reports.ts';
import { NOW_MS } from './reports.ts';

/** What `status` knows of a stream: verified 3 h ago and fresh, unless something else is given. */
export function makeStatusRow(changes: Partial<StreamStatusRow> = {}): StreamStatusRow {
  return {
    stream: 'prompts_analytics',
    slice: '',
    verdict: 'verified',
    unsettled: undefined,
    quarantined: 0,
    rows: 12_400,
    watermark: '2026-11-19',
    newest: undefined,
    verifiedAt: new Date(NOW_MS - 3 * 3_600_000).toISOString(),
    fresh: true,
    keyColumns: ['prompt_id'],
    keyState: 'proved',
    ...changes,
  };
}
