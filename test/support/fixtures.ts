import type { Checkpoint, Stream } from '../../src/model/stream.ts';
import type { StreamReport } from '../../src/model/run-report.ts';
import { createFieldTree } from '../../src/schema/observe-fields.ts';
import type { FetchedScan, PreparedLoad } from '../../src/run/scan.ts';
import type { ScanPlan } from '../../src/plan/scan-plan.ts';

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
/** Noon of the day the tests below live in. */
export const NOW_MS = Date.UTC(2026, 0, 31, 12);

export function makeStream(parts: Partial<Stream> = {}): Stream {
  return {
    name: 'items',
    table: 'items',
    path: 'items',
    paginated: true,
    recordsPointer: undefined,
    params: {},
    pageSize: 100,
    key: { kind: 'auto' },
    cursor: { kind: 'auto', param: 'startDate' },
    write: 'merge',
    lookbackMs: 3 * DAY_MS,
    freshnessMs: HOUR_MS,
    fullRefreshEveryMs: 30 * DAY_MS,
    slices: [],
    slice: undefined,
    contract: { columns: 'evolve', types: 'evolve', schema: undefined },
    columns: {},
    deletes: 'keep',
    maxDeleteRatio: 0.2,
    maxInvalidRatio: 0.05,
    history: false,
    decimals: 'double',
    partitionBy: undefined,
    skipUnchanged: false,
    audit: true,
    rules: 'r1',
    named: true,
    fingerprint: 'f1',
    ...parts,
  };
}

/** A checkpoint two hours old, of a stream whose cursor is proved. */
export function makeCheckpoint(parts: Partial<Checkpoint> = {}): Checkpoint {
  return {
    stream: 'items',
    slice: '',
    fingerprint: 'f1',
    cursorField: 'date',
    cursorState: 'proved',
    watermark: '2026-01-30',
    keyFields: ['date', 'id'],
    keyOrigin: 'learned',
    keyProvedOn: ['2026-01-30'],
    lastFullScanAt: '2026-01-30T10:00:00.000Z',
    lastVerifiedAt: new Date(NOW_MS - 2 * HOUR_MS).toISOString(),
    lastVerdict: 'verified',
    rowsDeclared: 1_000,
    head: undefined,
    rules: 'r1',
    runId: 'run-1',
    ...parts,
  };
}

export function makePlan(parts: Partial<ScanPlan> = {}): ScanPlan {
  return { mode: 'full', from: undefined, trial: false, reason: 'first sync', warnings: [], ...parts };
}

export function makeScan(parts: Partial<FetchedScan> = {}): FetchedScan {
  return {
    plan: makePlan(),
    recordsFile: '',
    tree: createFieldTree(),
    verdict: 'verified',
    reasons: [],
    total: 1_000,
    rows: 1_000,
    pages: 11,
    rescans: 0,
    duplicateMembers: 0,
    startedAtMs: NOW_MS,
    head: undefined,
    serverDateMs: NOW_MS,
    reread: () => Promise.reject(new Error('nobody asks here')),
    ...parts,
  };
}

export function makeLoad(parts: Partial<PreparedLoad> = {}): PreparedLoad {
  return {
    columns: [],
    tableExisted: true,
    columnChanges: { masked: undefined, masks: undefined, rehashed: [], remasked: [], retyped: [] },
    rejected: { count: 0, first: undefined, lines: { file: '', count: 0, lineLimit: 0 } },
    releases: false,
    absentSince: new Map(),
    key: { columns: ['date', 'id'], origin: 'learned', duplicates: 0, duplicatePositions: [] },
    cursorColumn: 'date',
    newestCursor: '2026-01-31',
    oldestCursor: '2026-01-01',
    dateless: 0,
    notes: [],
    warnings: [],
    ...parts,
  };
}

export function makeReport(parts: Partial<StreamReport> = {}): StreamReport {
  return {
    stream: 'items',
    slice: '',
    table: 'items',
    status: 'complete',
    mode: 'full',
    verdict: 'verified',
    reasons: [],
    rowsDeclared: 1_000,
    rows: { read: 1_000, inserted: 1, updated: 2, unchanged: 997, deleted: 0, quarantined: 0 },
    rowsInTable: 1_000,
    pages: 11,
    requests: 12,
    rescans: 0,
    startedAt: '2026-01-31T12:00:00.000Z',
    finishedAt: '2026-01-31T12:00:05.000Z',
    watermark: '2026-01-31',
    key: { columns: ['date', 'id'], origin: 'learned' },
    schemaChanges: [],
    error: undefined,
    ...parts,
  };
}
