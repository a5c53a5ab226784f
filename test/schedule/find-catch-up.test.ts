import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parseCron } from '../../src/schedule/cron-schedule.ts';
import { owesRun } from '../../src/schedule/find-catch-up.ts';
import type { RunReport } from '../../src/model/run-report.ts';
import { appendRunFile } from '../../state/run-file.ts';
import { makeRunReport, makeStreamReport } from '../cli/support/reports.ts';

const root = mkdtempSync(join(tmpdir(), 'sluice-catch-up-'));
afterAll(() => rmSync(root, { recursive: true }));

const NOW_MS = Date.parse('2026-11-20T12:00:00Z');
const daily = parseCron('0 6 * * *', 'UTC', NOW_MS);

/** A state folder with these runs, the last of them the newest. */
function makeState(...runs: readonly Partial<RunReport>[]): string {
  const folder = mkdtempSync(join(root, 'state-'));
  for (const [at, run] of runs.entries())
    appendRunFile(folder, makeRunReport({ runId: `run-${at}`, ...run }));
  return folder;
}

describe('a schedule that begins', () => {
  it.each([
    ['a time passed since the last run', '2026-11-19T06:00:10Z', true],
    ['many times passed', '2026-10-01T06:00:10Z', true],
    ['the last time had its run', '2026-11-20T06:00:10Z', false],
    ['somebody synced by hand since', '2026-11-20T09:00:00Z', false],
    ['a clock that was ahead recorded the last run', '2026-11-20T12:00:01Z', true],
    ['the last run says no time', 'when?', false],
  ])('knows whether %s', (_, startedAt, owes) => {
    expect(owesRun(daily, makeState({ startedAt }), NOW_MS)).toBe(owes);
  });

  it.each(['interrupted', 'killed', 'running'] as const)('owes one for a run that was %s', (status) => {
    expect(owesRun(daily, makeState({ startedAt: '2026-11-20T06:00:10Z', status }), NOW_MS)).toBe(true);
  });

  it('owes one for a run that was to be tried again', () => {
    const startedAt = '2026-11-20T06:00:10Z';
    expect(owesRun(daily, makeState({ startedAt, status: 'stopped', exitCode: 75 }), NOW_MS)).toBe(true);
  });

  it.each(['failed', 'partial'] as const)('owes none for a run that %s', (status) => {
    expect(owesRun(daily, makeState({ startedAt: '2026-11-20T06:00:10Z', status }), NOW_MS)).toBe(false);
  });

  it('owes none in a folder without a sync, and none while one runs', () => {
    expect(owesRun(daily, makeState(), NOW_MS)).toBe(false);
    const busy = makeState({ startedAt: '2026-11-19T06:00:10Z', status: 'running' });
    const holder = { pid: process.pid, host: hostname(), since: '2026-11-19T06:00:10Z', command: 'sync' };
    writeFileSync(join(busy, 'lock.json'), JSON.stringify(holder));
    expect(owesRun(daily, busy, NOW_MS)).toBe(false);
  });

  it.each([
    ['a rebuild', 'rebuild'],
    ['a retry', 'retry'],
    ['a retry of an earlier version', undefined],
    ['a state reset', 'state'],
  ] as const)('does not take %s for a sync', (_, mode) => {
    const streams = [makeStreamReport({ mode })];
    const state = makeState(
      { startedAt: '2026-11-19T06:00:10Z' },
      { startedAt: '2026-11-20T11:00:00Z', streams },
    );
    expect(owesRun(daily, state, NOW_MS)).toBe(true);
  });
});
