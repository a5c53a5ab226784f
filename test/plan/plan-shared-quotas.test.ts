import { describe, expect, it } from 'vitest';
import { planSharedQuotas } from '../../src/commands/plan/plan-shared-quotas.ts';
import type { PlannedAccount } from '../../src/model/plan-report.ts';
import { renderSharedQuotas } from '../../src/render/render-shared-quotas.ts';

const nowMs = Date.UTC(2026, 0, 1);
const limits = {
  windowMs: 3_600_000,
  ceilingPerWindow: undefined,
  defaultPerWindow: 600,
  burstPerSecond: 10,
  reserve: 0,
};

function plan(account: string, key: string, { requests, remaining = 100 }: Partial<Record<string, number>>) {
  const quota = { limit: 100, remaining, resetAtMs: nowMs + 1_800_000, notBeforeMs: undefined };
  return { account, requests, from: { key, limits, quota, nowMs } } satisfies PlannedAccount;
}

describe('what accounts with one key take together', () => {
  it('counts one quota for all of them, as the last one saw it', () => {
    const [shared, ...others] = planSharedQuotas([
      plan('acme', 'a', { requests: 80 }),
      plan('lone', 'b', { requests: 500 }),
      plan('beta', 'a', { requests: 60, remaining: 90 }),
    ]);
    expect(others).toEqual([]);
    // 90 now, and 50 once the window is over.
    const etaMs = 1_800_000 + 5_000;
    expect(shared).toEqual({
      accounts: ['acme', 'beta'],
      requests: 140,
      isWhole: true,
      windows: 2,
      windowSeconds: 3_600,
      etaMs,
    });
    expect(renderSharedQuotas([shared!])).toBe(
      'acme, beta share one key and its quota: together they take 140 requests in 2 hourly windows, about 30 min.',
    );
  });

  it('says at least where a plan is not known, and nothing where each has its own key', () => {
    const shared = planSharedQuotas([plan('acme', 'a', { requests: 7 }), plan('beta', 'a', {})]);
    expect(renderSharedQuotas(shared)).toBe(
      'acme, beta share one key and its quota: together they take at least 7 requests, about 1 s.',
    );
    const apart = planSharedQuotas([plan('acme', 'a', { requests: 7 }), plan('beta', 'b', {})]);
    expect(renderSharedQuotas(apart)).toBe('');
  });
});
