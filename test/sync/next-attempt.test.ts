import { describe, expect, it } from 'vitest';
import { type Instead, readInFull } from '../../src/run/step.ts';
import type { Checkpoint, Stream } from '../../src/model/stream.ts';
import type { ScanPlan } from '../../src/plan/scan-plan.ts';
import { type Attempt, nextAttempt } from '../../src/sync/next-attempt.ts';

const stream = { name: 'items' } as Stream;
const checkpoint = { stream: 'items', keyFields: ['id'], cursorState: 'proved', watermark: '2026-01-30' };
const incremental: ScanPlan = {
  mode: 'incremental',
  from: '2026-01-27',
  trial: false,
  reason: 'watermark 2026-01-30 minus the lookback',
  warnings: [],
};
const resumed: ScanPlan = { ...incremental, mode: 'full', from: undefined, goesOn: true };
const full: ScanPlan = {
  mode: 'full',
  from: undefined,
  trial: false,
  reason: 'its rows differ; reading the stream in full',
  warnings: [],
  isBroughtForward: false,
  readsAll: true,
};
const planned: Attempt = {
  stream,
  plan: incremental,
  checkpoint: checkpoint as unknown as Checkpoint,
  rescans: 0,
};

const unchanged: Instead = { kind: 'unchanged', because: 'nothing changed' };
const moved: Instead = { kind: 'moved', because: 'the total changed' };
const outdated: Instead = { kind: 'stage-outdated' };
const refresh: Instead = readInFull('its rows differ');

describe('what follows an attempt', () => {
  it.each<[string, Partial<Attempt>, Instead, unknown]>([
    ['an unchanged source ends it', {}, unchanged, { kind: 'end', because: 'nothing changed' }],
    [
      'data that moved restarts the same scan',
      {},
      moved,
      { kind: 'restart', because: 'the total changed', attempt: { ...planned, rescans: 1 } },
    ],
    [
      'and once more',
      { plan: full, rescans: 1 },
      moved,
      { kind: 'restart', because: 'the total changed', attempt: { ...planned, plan: full, rescans: 2 } },
    ],
    [
      'outdated pages give way to the planned scan',
      { plan: resumed, rescans: 1 },
      outdated,
      { kind: 'replan', because: undefined, attempt: planned },
    ],
    [
      'an incremental scan gives way to a full one, which is restarted by itself',
      { rescans: 1 },
      refresh,
      {
        kind: 'replan',
        because: 'its rows differ; reading the stream in full',
        attempt: { ...planned, plan: full },
      },
    ],
    [
      'with what is to be learned again',
      {},
      readInFull('the key repeats', { forget: { keyFields: undefined }, isBroughtForward: true }),
      {
        kind: 'replan',
        because: 'the key repeats; reading the stream in full',
        attempt: {
          ...planned,
          checkpoint: { ...checkpoint, keyFields: undefined },
          plan: {
            ...full,
            reason: 'the key repeats; reading the stream in full',
            isBroughtForward: true,
          },
        },
      },
    ],
    [
      'also before the first commit',
      { checkpoint: undefined },
      refresh,
      { kind: 'replan', attempt: { ...planned, plan: full, checkpoint: undefined } },
    ],
  ])('%s', (_, attempt, instead, next) => {
    expect(nextAttempt(planned, { ...planned, ...attempt }, instead)).toMatchObject(next as object);
  });

  it('is an error where a full scan asks for a full one: it would never end', () => {
    expect(() => nextAttempt(planned, { ...planned, plan: full }, refresh)).toThrow(/a full scan asked for/);
  });
});
