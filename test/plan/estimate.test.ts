import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  countRequests,
  estimateDuration,
  type EstimateInput,
  requestsPerDay,
  requestsPerWindow,
} from '../../src/plan/estimate.ts';
import { driveCoverage, serveRows } from '../read/drive-coverage.ts';
import { HOUR_MS, NOW_MS } from '../support/fixtures.ts';

describe('countRequests', () => {
  it.each([
    [0, 100, 1, 1],
    [100, 100, 1, 1],
    [101, 100, 2, 3],
    [199, 100, 2, 3],
    [200, 100, 3, 4],
    [1_000_000, 100, 10_101, 10_102],
    [3, 2, 2, 3],
  ])('of %i rows in pages of %i: %i pages, %i requests', (rows, pageSize, pages, requests) => {
    expect(countRequests(rows, pageSize)).toEqual({ pages, requests });
  });

  it('is what a scan takes, and one more look at the head', () => {
    fc.assert(
      fc.property(fc.nat({ max: 300 }), fc.integer({ min: 2, max: 50 }), (rows, pageSize) => {
        const all = Array.from({ length: rows }, (_, at) => at);
        const drive = driveCoverage(
          serveRows(() => all, { sizes: [pageSize], tellsTotal: true }),
          { pageSize },
        );
        const { pages, requests } = countRequests(rows, pageSize);
        expect(pages).toBe(drive.requests);
        expect(requests).toBe(drive.requests + (drive.requests > 1 ? 1 : 0));
      }),
    );
  });
});

describe('estimateDuration', () => {
  const base: EstimateInput = {
    requests: 0,
    ceilingPerWindow: undefined,
    defaultPerWindow: 600,
    windowMs: 3_600_000,
    burstPerSecond: 10,
    reserve: 0,
    quota: undefined,
    nowMs: NOW_MS,
  };
  const window = (remaining: number, resetInMs = HOUR_MS / 2, limit = 600) => ({
    limit,
    remaining,
    resetAtMs: NOW_MS + resetInMs,
    notBeforeMs: undefined,
  });

  it.each<readonly [string, Partial<EstimateInput>, number, number]>([
    ['nothing to do', {}, 0, 0],
    ['a few requests', { requests: 20 }, 1, 2_000],
    ['exactly an hour’s', { requests: 600 }, 1, 60_000],
    ['one more', { requests: 601 }, 2, HOUR_MS + 100],
    ['two hours’ and one', { requests: 1_201 }, 3, 2 * HOUR_MS + 100],
    ['a window half used', { requests: 300, quota: window(300) }, 1, 30_000],
    ['more than is left', { requests: 301, quota: window(300) }, 2, HOUR_MS / 2 + 100],
    ['an empty window', { requests: 1, quota: window(0) }, 1, HOUR_MS / 2 + 100],
    [
      'an empty window and more than an hour',
      { requests: 601, quota: window(0) },
      2,
      HOUR_MS / 2 + HOUR_MS + 100,
    ],
    ['a window that is over', { requests: 600, quota: window(0, -1) }, 1, 60_000],
    ['a reserve', { requests: 500, reserve: 100 }, 1, 50_000],
    ['a reserve that is not enough', { requests: 501, reserve: 100 }, 2, HOUR_MS + 100],
    ['a ceiling below the plan', { requests: 100, ceilingPerWindow: 100, quota: window(600) }, 1, 10_000],
    [
      'a ceiling of which others used a part',
      { requests: 60, ceilingPerWindow: 100, quota: window(550) },
      2,
      HOUR_MS / 2 + 1_000,
    ],
    ['a reserve of everything', { requests: 1, reserve: 600 }, 1, HOUR_MS + 100],
  ])('for %s', (_, input, windows, etaMs) => {
    expect(estimateDuration({ ...base, ...input })).toEqual({ windows, etaMs });
  });
});

describe('requestsPerWindow and requestsPerDay', () => {
  const limits = {
    ceilingPerWindow: undefined,
    windowMs: 3_600_000,
    defaultPerWindow: 600,
    burstPerSecond: 10,
    reserve: 0,
  };

  it.each([
    ['nothing is told', {}, undefined, 600],
    ['the server told its limit', {}, 1_200, 1_200],
    ['config has a ceiling below it', { ceilingPerWindow: 100 }, 1_200, 100],
    ['config has one above it', { ceilingPerWindow: 5_000 }, 1_200, 1_200],
    ['some are reserved', { reserve: 100 }, undefined, 600],
  ])('go by the least that binds when %s', (_, more, told, perHour) => {
    const quotaLimits = { ...limits, ...more };
    expect(requestsPerWindow(quotaLimits, told)).toBe(perHour);
    const quota = { limit: told, remaining: undefined, resetAtMs: undefined, notBeforeMs: undefined };
    const perDay = requestsPerDay({ settings: { quotaLimits }, source: { seenQuota: () => quota } });
    expect(perDay).toBe(24 * (perHour - quotaLimits.reserve));
  });

  it('are never none, whatever is reserved', () => {
    expect(requestsPerDay({ settings: { quotaLimits: { ...limits, reserve: 700 } } })).toBe(24);
  });
});
