import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { countRefusal, isOutdated, type RefusedRun } from '../../src/model/refused-run.ts';
import type { ReportedError } from '../../src/model/run-report.ts';
import { findRefusal, keepRefusal, settleRefusal } from '../../src/commands/refused-run.ts';
import { hasRefusedFile } from '../../state/refused-file.ts';
import { appendRunFile } from '../../state/run-file.ts';
import { makeRunReport, makeStreamReport } from '../cli/support/reports.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

const broken: ReportedError = { code: 'config_invalid', message: 'broken', hint: 'Mend it.', exitCode: 2 };
const locked: ReportedError = { code: 'state_locked', message: 'held', hint: 'Wait.', exitCode: 75 };
const at = (hour: number) => new Date(Date.UTC(2026, 10, 20, hour)).toISOString();
const refuse = (hour: number, error = broken): RefusedRun => ({
  startedAt: at(hour),
  since: at(hour),
  times: 1,
  error,
});

describe('a refused sync', () => {
  it.each([
    ['began before it and ended before it', 1, 2, 'complete', false, false],
    ['began before it and ended after it', 1, 4, 'complete', false, true],
    ['began before it and goes on', 1, 4, 'running', false, false],
    ['began before it and was killed', 1, 4, 'killed', false, false],
    ['began with it', 3, 4, 'failed', true, true],
    ['began after it', 4, 5, 'stopped', true, true],
    ['began after it and goes on', 4, 4, 'running', true, true],
  ] as const)(
    'is outdated or not by a sync on record that %s',
    (_, started, ended, status, byCause, byLock) => {
      const run = { startedAt: at(started), finishedAt: at(ended), status };
      expect(isOutdated(refuse(3), run)).toBe(byCause);
      expect(isOutdated(refuse(3, locked), run)).toBe(byLock);
    },
  );

  it('is counted with those before it, and not hidden by one that was only turned away', () => {
    const first = countRefusal(undefined, refuse(1));
    expect(first).toEqual(refuse(1));
    const second = countRefusal(first, refuse(2));
    expect(second).toEqual({ ...refuse(2), since: at(1), times: 2 });
    expect(countRefusal(second, refuse(3, locked))).toBeUndefined();
    const turnedAway = countRefusal(undefined, refuse(1, locked));
    expect(countRefusal(turnedAway, refuse(2))).toEqual({ ...refuse(2), since: at(1), times: 2 });
  });

  it('stays until a sync is on record: neither a rebuild nor a retry makes up for it', () => {
    const stateDir = makeTempFolder();
    keepRefusal({ stateDir, guessed: false }, refuse(3));
    const streams = [makeStreamReport({ mode: 'rebuild' })];
    appendRunFile(stateDir, makeRunReport({ runId: 'r', startedAt: at(4), streams }));
    settleRefusal(stateDir);
    expect(findRefusal(stateDir)).toEqual(refuse(3));
    appendRunFile(stateDir, makeRunReport({ runId: 's', startedAt: at(5) }));
    expect(findRefusal(stateDir)).toBeUndefined();
    settleRefusal(stateDir);
    expect([hasRefusedFile(stateDir), findRefusal(stateDir)]).toEqual([true, undefined]);
    // A cause that is fixed is forgotten, and no other.
    keepRefusal({ stateDir, guessed: false }, refuse(6));
    settleRefusal(stateDir, ['key_missing']);
    expect(findRefusal(stateDir)).toEqual(refuse(6));
    settleRefusal(stateDir, ['key_missing', 'config_invalid']);
    expect(findRefusal(stateDir)).toBeUndefined();
    // A run file that is lost brings nothing back.
    keepRefusal({ stateDir, guessed: false }, refuse(6));
    expect(findRefusal(stateDir)).toEqual(refuse(6));
  });

  it('is kept at a place that is only guessed where that is a state folder, and never throws', () => {
    const folder = makeTempFolder();
    keepRefusal({ stateDir: folder, guessed: true }, refuse(3));
    expect(hasRefusedFile(folder)).toBe(false);
    const none = join(folder, 'none');
    keepRefusal({ stateDir: none, guessed: true }, refuse(3));
    expect(existsSync(none)).toBe(false);
    keepRefusal({ stateDir: none, guessed: false }, refuse(3));
    expect(findRefusal(none)).toEqual(refuse(3));
    const notFolder = join(none, 'refused.json');
    keepRefusal({ stateDir: notFolder, guessed: false }, refuse(4));
    settleRefusal(notFolder);
    expect(findRefusal(none)).toEqual(refuse(3));
  });
});
