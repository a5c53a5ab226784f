import type { ArchivedScan } from '../../src/archive/archived-scan.ts';

const DAY_MS = 86_400_000;

/** A header as a sync writes it: verified, full, of run `r<day>`, after the run of the day before. */
export function makeArchived(day: number, changes: Partial<ArchivedScan> = {}): ArchivedScan {
  return {
    format: 'sluice-archive',
    version: 1,
    stream: 'items',
    slice: '',
    runId: `r${day}`,
    previousRunId: day === 1 ? undefined : `r${day - 1}`,
    address: 'a',
    masks: {},
    plan: { mode: 'full', trial: false, reason: 'first sync' },
    options: {},
    verdict: 'verified',
    reasons: [],
    total: 3,
    rows: 3,
    pages: 1,
    rescans: 0,
    duplicateMembers: 0,
    startedAtMs: day * DAY_MS,
    serverDateMs: day * DAY_MS,
    loadedAtMs: day * DAY_MS + 1_000,
    content: { file: `${'0'.repeat(32)}.ndjson.zst`, sha256: '', bytes: 0, packedBytes: 0 },
    ...changes,
  };
}

/** The same for a scan of what is new. */
export function makeIncremental(day: number, changes: Partial<ArchivedScan> = {}): ArchivedScan {
  const plan = { mode: 'incremental', from: '2026-01-01', trial: false, reason: 'since' } as const;
  return makeArchived(day, { plan, ...changes });
}
